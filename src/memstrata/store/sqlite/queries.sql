-- Every statement the operations of store/ use, by name. Values are always bound.
-- Hot ones are guarded by tests that read their query plans.

-- name: store_row
-- What the file is: its uuid, the model in use.
SELECT s.uuid, s.model, m.name, m.dimensions
FROM store s LEFT JOIN models m ON m.model = s.model;

-- name: reserve
-- Take the next `count` sequence numbers; returns the last of them.
UPDATE store SET last_seq = last_seq + :count RETURNING last_seq;

-- name: model_add
-- Register an embedding model.
INSERT INTO models (name, dimensions) VALUES (:name, :dimensions)
ON CONFLICT (name) DO UPDATE SET dimensions = excluded.dimensions RETURNING model;

-- name: model_use
-- Make a model the one whose vectors are searched.
UPDATE store SET model = :model;

-- name: scope_find
-- The number, generation and stamp of a scope.
SELECT scope, generation, stamp FROM scopes
WHERE tenant = :tenant AND user_id = :user_id AND agent_id = :agent_id;

-- name: scope_add
-- Create a scope on its first write.
INSERT INTO scopes (tenant, user_id, agent_id, created_at)
VALUES (:tenant, :user_id, :agent_id, :at)
ON CONFLICT (tenant, user_id, agent_id) DO NOTHING;

-- name: scope_touch
-- Note that items of the scope changed.
UPDATE scopes SET stamp = max(stamp, :stamp) WHERE scope = :scope;

-- name: scope_list
-- Who is in the store, with how much.
SELECT s.tenant, s.user_id, s.agent_id, s.created_at,
    (SELECT count(*) FROM messages m WHERE m.scope = s.scope AND m.hidden_at IS NULL),
    (SELECT count(*) FROM records r WHERE r.scope = s.scope AND r.closed_at IS NULL)
FROM scopes s WHERE s.tenant = :tenant AND s.scope > :after
ORDER BY s.user_id, s.agent_id;

-- name: tenant_list
-- Whose memory is in the file: a backup is of all of them.
SELECT DISTINCT tenant FROM scopes;

-- name: user_get
-- A user's time zone and locale.
SELECT timezone, locale FROM users WHERE tenant = :tenant AND user_id = :user_id;

-- name: user_set
-- Set a user's time zone and locale; null keeps what is there.
INSERT INTO users (tenant, user_id, timezone, locale)
VALUES (:tenant, :user_id, :timezone, :locale)
ON CONFLICT (tenant, user_id) DO UPDATE SET
    timezone = coalesce(excluded.timezone, timezone), locale = coalesce(excluded.locale, locale);

-- name: tenant_get
-- A tenant's managers, strategy and instructions.
SELECT managers, strategy, instructions FROM tenants WHERE tenant = :tenant;

-- name: tenant_set
-- Set what holds for a tenant.
INSERT INTO tenants (tenant, managers, strategy, instructions)
VALUES (:tenant, :managers, :strategy, :instructions)
ON CONFLICT (tenant) DO UPDATE SET managers = excluded.managers, strategy = excluded.strategy,
    instructions = excluded.instructions;

-- name: speaker_add
-- Remember who has spoken.
INSERT INTO speakers (scope, hash, name) VALUES (:scope, :hash, :name)
ON CONFLICT (scope, hash) DO NOTHING;

-- name: speaker_list
-- Who has spoken in a scope.
SELECT name, hash FROM speakers WHERE scope = :scope;

-- name: session_tail
-- The last messages of a session, newest first, to align a re-sent history with.
SELECT seq, digest, id, identity FROM messages INDEXED BY messages_session
WHERE scope = :scope AND session_id = :session_id AND hidden_at IS NULL
    AND (:prompts OR role <> 'system')
ORDER BY seq DESC LIMIT :count;

-- name: session_find
-- Which of these digests are in a session.
SELECT digest, id FROM messages INDEXED BY messages_session
WHERE scope = :scope AND session_id = :session_id AND hidden_at IS NULL
    AND digest IN (SELECT unhex(value) FROM json_each(:digests))
ORDER BY seq;

-- name: identity_find
-- Which of these identities are stored already.
SELECT identity, id, content FROM messages INDEXED BY messages_identity
WHERE scope = :scope AND hidden_at IS NULL AND identity IS NOT NULL
    AND identity IN (SELECT unhex(value) FROM json_each(:identities));

-- name: message_add
-- Append one message.
INSERT INTO messages (scope, seq, id, external_id, session_id, role, name, content, parts,
    occurred_at, recorded_at, hidden_at, trust, tags, metadata, spans, batch_id, digest, identity)
VALUES (:scope, :seq, :id, :external_id, :session_id, :role, :name, :content, :parts,
    :occurred_at, :recorded_at, :hidden_at, :trust, :tags, :metadata, :spans, :batch_id, :digest,
    :identity);

-- name: message_by_seq
-- Messages behind found items.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id
FROM messages WHERE scope = :scope AND seq IN (SELECT value FROM json_each(:seqs));

-- name: message_by_id
-- Messages by their ids.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id
FROM messages INDEXED BY messages_id
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids));

-- name: message_list
-- Messages in the order they happened, after a cursor.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id
FROM messages
WHERE scope = :scope AND (occurred_at, seq) > (:after_time, :after_seq)
    AND occurred_at >= :since AND occurred_at < :until
    AND (:hidden OR hidden_at IS NULL) AND (/*where*/)
ORDER BY occurred_at, seq LIMIT :limit;

-- name: message_list_of_session
-- Messages of a session in the order they happened, after a cursor.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id
FROM messages INDEXED BY messages_session
WHERE scope = :scope AND session_id = :session_id AND (occurred_at, seq) > (:after_time, :after_seq)
    AND occurred_at >= :since AND occurred_at < :until
    AND (:hidden OR hidden_at IS NULL) AND (/*where*/)
ORDER BY occurred_at, seq LIMIT :limit;

-- name: message_seqs_where
-- The items of messages that pass a filter.
SELECT i.seq FROM messages
JOIN items i INDEXED BY items_owner ON i.scope = messages.scope AND i.owner = messages.seq
WHERE messages.scope = :scope AND (/*where*/);

-- name: message_seqs_containing
-- The items of messages that contain one of some literal texts, case and accents folded.
SELECT i.seq FROM messages
JOIN items i INDEXED BY items_owner ON i.scope = messages.scope AND i.owner = messages.seq
WHERE messages.scope = :scope AND (contains_fold(content, :needles) OR contains_fold(name, :needles));

-- name: message_of_batch
-- The messages a batch appended.
SELECT seq, id, digest FROM messages INDEXED BY messages_batch
WHERE scope = :scope AND batch_id = :batch_id ORDER BY seq;

-- name: message_seqs
-- The sequence numbers of messages, by id.
SELECT id, seq FROM messages INDEXED BY messages_id
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids));

-- name: message_fresh
-- The messages of a batch that are in no episode yet.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id
FROM messages INDEXED BY messages_batch
WHERE scope = :scope AND batch_id = :batch_id AND hidden_at IS NULL AND episode IS NULL
ORDER BY occurred_at, seq;

-- name: message_before
-- The last messages of a session before a sequence number, newest first.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id
FROM messages INDEXED BY messages_session
WHERE scope = :scope AND session_id = :session_id AND seq < :before AND hidden_at IS NULL
ORDER BY seq DESC LIMIT :count;

-- name: message_before_alone
-- The same of messages in no session, among the last five hundred numbers.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id
FROM messages
WHERE scope = :scope AND session_id IS NULL AND seq < :before AND seq > :before - 500
    AND hidden_at IS NULL
ORDER BY seq DESC LIMIT :count;

-- name: message_before_all
-- The last messages before a sequence number, of whatever session.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id
FROM messages WHERE scope = :scope AND seq < :before AND hidden_at IS NULL
ORDER BY seq DESC LIMIT :count;

-- name: message_of_episode
-- The messages of an episode that are not hidden.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id
FROM messages INDEXED BY messages_episode
WHERE scope = :scope AND episode = :episode AND hidden_at IS NULL ORDER BY occurred_at, seq;

-- name: message_hidden_of_episode
-- Whether an episode has hidden messages, which may be shown again.
SELECT 1 FROM messages INDEXED BY messages_episode
WHERE scope = :scope AND episode = :episode AND hidden_at IS NOT NULL LIMIT 1;

-- name: message_ids_of_episodes
-- Which messages are in these episodes.
SELECT episode, id FROM messages INDEXED BY messages_episode
WHERE scope = :scope AND episode IN (SELECT value FROM json_each(:episodes))
    AND (:hidden OR hidden_at IS NULL) ORDER BY occurred_at, seq;

-- name: message_in_no_episode
-- Which of these messages are there and in no episode.
SELECT id FROM messages INDEXED BY messages_id
WHERE scope = :scope AND episode IS NULL AND id IN (SELECT value FROM json_each(:ids));

-- name: message_join_episode
-- Put messages into an episode.
UPDATE messages INDEXED BY messages_id SET episode = :episode
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids));

-- name: message_show
-- Hide the messages of a batch, or show them again; those that are so already stay as they are.
UPDATE messages INDEXED BY messages_batch SET hidden_at = :hidden_at
WHERE scope = :scope AND batch_id = :batch_id
    AND (hidden_at IS NULL) = (:hidden_at IS NOT NULL);

-- name: message_again
-- A hidden message of a batch that is stored again, not hidden, and where.
SELECT m.id, o.id FROM messages m INDEXED BY messages_batch
JOIN messages o INDEXED BY messages_identity ON o.scope = m.scope AND o.identity = m.identity AND o.hidden_at IS NULL
WHERE m.scope = :scope AND m.batch_id = :batch_id AND m.hidden_at IS NOT NULL LIMIT 1;

-- name: message_ids_where
-- Ids of the messages that pass a filter.
SELECT id FROM messages WHERE scope = :scope AND (/*where*/);

-- name: message_ids_of_session
-- Ids of a session's messages.
SELECT id FROM messages INDEXED BY messages_session
WHERE scope = :scope AND session_id = :session_id;

-- name: message_all
-- Every message of a scope, for a dump.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id, digest, identity
FROM messages WHERE scope = :scope AND seq > :after ORDER BY seq LIMIT :limit;

-- name: episode_put
-- Write an episode, or what it has become.
INSERT INTO episodes (scope, seq, id, session_id, title, summary, people, topics, started_at, ended_at, is_open,
    recorded_at, batch_id)
VALUES (:scope, :seq, :id, :session_id, :title, :summary, :people, :topics, :started_at,
    :ended_at, :is_open, :recorded_at, :batch_id)
ON CONFLICT (scope, seq) DO UPDATE SET title = excluded.title, summary = excluded.summary,
    people = excluded.people, topics = excluded.topics, started_at = excluded.started_at,
    ended_at = excluded.ended_at, is_open = excluded.is_open;

-- name: episode_open
-- The open episodes of a scope.
SELECT seq, id, session_id, title, summary, people, topics, started_at, ended_at, is_open,
    recorded_at, batch_id
FROM episodes INDEXED BY episodes_open WHERE scope = :scope AND is_open;

-- name: episode_close
-- Close episodes: they do not grow any more.
UPDATE episodes SET is_open = 0
WHERE scope = :scope AND seq IN (SELECT value FROM json_each(:seqs));

-- name: episode_by_seq
-- Episodes behind found items.
SELECT seq, id, session_id, title, summary, people, topics, started_at, ended_at, is_open,
    recorded_at, batch_id
FROM episodes WHERE scope = :scope AND seq IN (SELECT value FROM json_each(:seqs));

-- name: episode_by_id
-- Episodes by their ids.
SELECT seq, id, session_id, title, summary, people, topics, started_at, ended_at, is_open,
    recorded_at, batch_id
FROM episodes INDEXED BY episodes_id
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids));

-- name: episode_list
-- Episodes in the order they began, after a cursor.
SELECT seq, id, session_id, title, summary, people, topics, started_at, ended_at, is_open,
    recorded_at, batch_id
FROM episodes INDEXED BY episodes_time
WHERE scope = :scope AND (started_at, seq) > (:after_time, :after_seq)
    AND ended_at >= :since AND started_at < :until
    AND (:session_id IS NULL OR session_id = :session_id) AND title <> ''
ORDER BY started_at, seq LIMIT :limit;

-- name: episode_of_messages
-- The episodes some messages are in.
SELECT DISTINCT episode FROM messages INDEXED BY messages_id
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids)) AND episode IS NOT NULL;

-- name: episode_of_batch
-- The episodes a batch's messages are in.
SELECT DISTINCT episode FROM messages INDEXED BY messages_batch
WHERE scope = :scope AND batch_id = :batch_id AND episode IS NOT NULL;

-- name: episode_drop
-- Erase an episode.
DELETE FROM episodes WHERE scope = :scope AND seq = :seq;

-- name: episode_all
-- Every episode of a scope, for a dump.
SELECT seq, id, session_id, title, summary, people, topics, started_at, ended_at, is_open,
    recorded_at, batch_id
FROM episodes WHERE scope = :scope ORDER BY seq;

-- name: item_rewrite
-- Say anew what can be found of something; its old vector no longer fits.
UPDATE items SET header = :header, terms = :terms, stop = :stop, model = 0, stamp = :stamp
WHERE scope = :scope AND seq = :seq;

-- name: item_add
-- Add one searchable item.
INSERT INTO items (scope, seq, owner, stamp, start, stop, model, header, terms)
VALUES (:scope, :seq, :owner, :stamp, :start, :stop, 0, :header, :terms);

-- name: item_all
-- All items of a scope with the vectors of one model, to build its index.
SELECT i.seq, i.header, i.terms, v.vector FROM items i
LEFT JOIN vectors v ON v.scope = i.scope AND v.model = :model AND v.seq = i.seq
WHERE i.scope = :scope ORDER BY i.seq;

-- name: item_tail
-- The items that changed since an index was last brought up to date.
SELECT i.seq, i.header, i.terms, v.vector FROM items i INDEXED BY items_stamp
LEFT JOIN vectors v ON v.scope = i.scope AND v.model = :model AND v.seq = i.seq
WHERE i.scope = :scope AND i.stamp > :stamp ORDER BY i.seq;

-- name: item_owners
-- The owners and passages of found items.
SELECT seq, owner, start, stop FROM items
WHERE scope = :scope AND seq IN (SELECT value FROM json_each(:seqs));

-- name: item_headers
-- The headers of everything that belongs to these owners.
SELECT seq, header FROM items INDEXED BY items_owner
WHERE scope = :scope AND owner IN (SELECT value FROM json_each(:owners));

-- name: item_header_set
-- Replace a header.
UPDATE items SET header = :header, stamp = :stamp WHERE scope = :scope AND seq = :seq;

-- name: item_pending_messages
-- Messages' items that have no vector yet, oldest first.
SELECT i.seq, substr(m.content, i.start + 1, i.stop - i.start), m.name, NULL,
    m.occurred_at, i.stamp
FROM items i INDEXED BY items_without_vector
JOIN messages m ON m.scope = i.scope AND m.seq = i.owner
WHERE i.scope = :scope AND i.model = 0 ORDER BY i.seq LIMIT :limit;

-- name: item_pending_records
-- Records' items that have no vector yet, oldest first.
SELECT i.seq, substr(r.text, i.start + 1, i.stop - i.start), NULL, r.title, r.occurred_at, i.stamp
FROM items i INDEXED BY items_without_vector
JOIN records r ON r.scope = i.scope AND r.seq = i.owner
WHERE i.scope = :scope AND i.model = 0 ORDER BY i.seq LIMIT :limit;

-- name: item_pending_episodes
-- Closed episodes' items that have no vector yet; an open one still changes.
SELECT i.seq, e.title || char(10) || e.summary, NULL, NULL, e.started_at, i.stamp
FROM items i INDEXED BY items_without_vector
JOIN episodes e ON e.scope = i.scope AND e.seq = i.owner
WHERE i.scope = :scope AND i.model = 0 AND NOT e.is_open ORDER BY i.seq LIMIT :limit;

-- name: item_pending_entities
-- Entities' items that have no vector yet.
SELECT i.seq, e.name, NULL, NULL, NULL, i.stamp
FROM items i INDEXED BY items_without_vector
JOIN entities e ON e.scope = i.scope AND e.seq = i.owner
WHERE i.scope = :scope AND i.model = 0 ORDER BY i.seq LIMIT :limit;

-- name: item_vector_known
-- Give an item's vector to the items of the version that replaces it with the same text.
SELECT i.start, v.vector FROM items i INDEXED BY items_owner
JOIN vectors v ON v.scope = i.scope AND v.model = i.model AND v.seq = i.seq
WHERE i.scope = :scope AND i.owner = :owner;

-- name: item_embedded
-- Note that an item has its vector.
UPDATE items SET model = :model, stamp = :stamp
WHERE scope = :scope AND seq = :seq AND model >= 0;

-- name: vector_put
-- Store a vector of an item that is still there and says what it said.
INSERT INTO vectors (scope, model, seq, vector)
SELECT :scope, :model, :seq, :vector
WHERE EXISTS (
    SELECT 1 FROM items WHERE scope = :scope AND seq = :seq AND model >= 0 AND stamp = :seen)
ON CONFLICT (scope, model, seq) DO UPDATE SET vector = excluded.vector;

-- name: item_vector_put
-- Note that an item that says what it said has its vector.
UPDATE items SET model = :model, stamp = :stamp
WHERE scope = :scope AND seq = :seq AND model >= 0 AND stamp = :seen;

-- name: vector_add
-- Store a vector of an item that is still there.
INSERT INTO vectors (scope, model, seq, vector)
SELECT :scope, :model, :seq, :vector
WHERE EXISTS (SELECT 1 FROM items WHERE scope = :scope AND seq = :seq AND model >= 0)
ON CONFLICT (scope, model, seq) DO UPDATE SET vector = excluded.vector;

-- name: record_add
-- Add one version of a record.
INSERT INTO records (scope, id, version, seq, kind, title, text, fields, tags, metadata, path,
    occurred_at, ended_at, recorded_at, created_at, closed_at, valid_from, valid_to, retired_at,
    expires_at, confidence, trust, sensitivity, lifecycle, supersedes, superseded_by, fingerprint,
    batch_id)
VALUES (:scope, :id, :version, :seq, :kind, :title, :text, :fields, :tags, :metadata, :path,
    :occurred_at, :ended_at, :recorded_at, :created_at, :closed_at, :valid_from, :valid_to,
    :retired_at, :expires_at, :confidence, :trust, :sensitivity, :lifecycle, :supersedes,
    :superseded_by, :fingerprint, :batch_id);

-- name: record_open
-- The open version of a record, if it has one, and its newest version number.
SELECT max(CASE WHEN closed_at IS NULL THEN version END), max(version),
    max(CASE WHEN closed_at IS NULL THEN seq END)
FROM records WHERE scope = :scope AND id = :id;

-- name: record_close
-- Close the open version.
UPDATE records SET closed_at = :at WHERE scope = :scope AND id = :id AND closed_at IS NULL;

-- name: record_by_id
-- Open versions by id.
SELECT seq, id, version, kind, title, text, fields, tags, metadata, path, occurred_at, ended_at,
    recorded_at, created_at, closed_at, valid_from, valid_to, retired_at, expires_at, confidence,
    trust, sensitivity, lifecycle, supersedes, superseded_by, fingerprint, batch_id
FROM records WHERE scope = :scope AND closed_at IS NULL
    AND id IN (SELECT value FROM json_each(:ids));

-- name: record_versions
-- All versions of a record, oldest first.
SELECT seq, id, version, kind, title, text, fields, tags, metadata, path, occurred_at, ended_at,
    recorded_at, created_at, closed_at, valid_from, valid_to, retired_at, expires_at, confidence,
    trust, sensitivity, lifecycle, supersedes, superseded_by, fingerprint, batch_id
FROM records WHERE scope = :scope AND id = :id ORDER BY version;

-- name: record_by_seq
-- Record versions behind found items.
SELECT seq, id, version, kind, title, text, fields, tags, metadata, path, occurred_at, ended_at,
    recorded_at, created_at, closed_at, valid_from, valid_to, retired_at, expires_at, confidence,
    trust, sensitivity, lifecycle, supersedes, superseded_by, fingerprint, batch_id
FROM records INDEXED BY records_seq
WHERE scope = :scope AND seq IN (SELECT value FROM json_each(:seqs));

-- name: record_same
-- The record with this fingerprint that stands now, if there is one other than `id`.
SELECT id, text FROM records INDEXED BY records_fingerprint
WHERE scope = :scope AND fingerprint = :fingerprint AND closed_at IS NULL AND id <> :id
    AND lifecycle IN ('current', 'review')
    AND coalesce(valid_to > :now, 1) AND coalesce(expires_at > :now, 1) LIMIT 1;

-- name: record_of_subjects
-- Open versions about these subjects and attributes, a JSON list of pairs.
SELECT seq, r.id, version, kind, title, text, fields, tags, metadata, r.path, occurred_at, ended_at,
    recorded_at, created_at, closed_at, valid_from, valid_to, retired_at, expires_at, confidence,
    trust, sensitivity, lifecycle, supersedes, superseded_by, fingerprint, batch_id
FROM json_each(:pairs) pair CROSS JOIN records r INDEXED BY records_subject
    ON r.scope = :scope AND r.subject = json_extract(pair.value, '$[0]')
    AND r.attribute = json_extract(pair.value, '$[1]')
WHERE closed_at IS NULL AND lifecycle <> 'retired';

-- name: record_of_fingerprints
-- Open versions with these fingerprints.
SELECT seq, id, version, kind, title, text, fields, tags, metadata, path, occurred_at, ended_at,
    recorded_at, created_at, closed_at, valid_from, valid_to, retired_at, expires_at, confidence,
    trust, sensitivity, lifecycle, supersedes, superseded_by, fingerprint, batch_id
FROM records INDEXED BY records_fingerprint
WHERE scope = :scope AND closed_at IS NULL AND lifecycle <> 'retired'
    AND fingerprint IN (SELECT value FROM json_each(:fingerprints));

-- name: record_rejected
-- Which of these fingerprints were taken back or changed by someone, and none stands.
SELECT DISTINCT fingerprint FROM records r
WHERE scope = :scope AND fingerprint IN (SELECT value FROM json_each(:fingerprints))
    AND (closed_at IS NULL AND lifecycle IN ('retired', 'review')
        OR closed_at IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM records o INDEXED BY records_open WHERE o.scope = r.scope
                AND o.id = r.id AND o.closed_at IS NULL AND o.fingerprint = r.fingerprint))
    AND NOT EXISTS (
        SELECT 1 FROM records c INDEXED BY records_fingerprint WHERE c.scope = r.scope
            AND c.fingerprint = r.fingerprint AND c.closed_at IS NULL AND c.lifecycle = 'current');

-- name: record_of_prefix
-- Open versions of one kind, by what its ids begin with.
SELECT seq, id, version, kind, title, text, fields, tags, metadata, path, occurred_at, ended_at,
    recorded_at, created_at, closed_at, valid_from, valid_to, retired_at, expires_at, confidence,
    trust, sensitivity, lifecycle, supersedes, superseded_by, fingerprint, batch_id
FROM records WHERE scope = :scope AND closed_at IS NULL AND lifecycle <> 'retired'
    AND id >= :low AND id < :high;

-- name: record_open_seqs
-- The sequence numbers of the open versions of records, by id.
SELECT id, seq FROM records INDEXED BY records_open
WHERE scope = :scope AND closed_at IS NULL AND id IN (SELECT value FROM json_each(:ids));

-- name: record_of_batch
-- The open versions that a batch wrote.
SELECT seq, id, version, kind, title, text, fields, tags, metadata, path, occurred_at, ended_at,
    recorded_at, created_at, closed_at, valid_from, valid_to, retired_at, expires_at, confidence,
    trust, sensitivity, lifecycle, supersedes, superseded_by, fingerprint, batch_id
FROM records INDEXED BY records_batch
WHERE scope = :scope AND batch_id = :batch_id AND closed_at IS NULL;

-- name: record_list
-- Open versions in the order they were first written, after a cursor.
SELECT seq, id, version, kind, title, text, fields, tags, metadata, path, occurred_at, ended_at,
    recorded_at, created_at, closed_at, valid_from, valid_to, retired_at, expires_at, confidence,
    trust, sensitivity, lifecycle, supersedes, superseded_by, fingerprint, batch_id
FROM records
WHERE scope = :scope AND closed_at IS NULL AND (created_at, id) > (:after_time, :after_id)
    AND kind IN (SELECT value FROM json_each(:kinds))
    AND lifecycle IN (SELECT value FROM json_each(:lifecycles)) AND (/*where*/)
ORDER BY created_at, id LIMIT :limit;

-- name: record_seqs_where
-- The items of record versions that pass a filter.
SELECT i.seq FROM records
JOIN items i INDEXED BY items_owner ON i.scope = records.scope AND i.owner = records.seq
WHERE records.scope = :scope AND (/*where*/);

-- name: record_seqs_containing
-- The items of record versions that contain one of some literal texts.
SELECT i.seq FROM records
JOIN items i INDEXED BY items_owner ON i.scope = records.scope AND i.owner = records.seq
WHERE records.scope = :scope AND (contains_fold(text, :needles) OR contains_fold(title, :needles));

-- name: told_seqs_containing
-- The items of episodes and themes that contain one of some literal texts.
SELECT seq FROM episodes
WHERE scope = :scope AND (contains_fold(title, :needles) OR contains_fold(summary, :needles))
UNION ALL
SELECT seq FROM themes
WHERE scope = :scope AND level = 0
    AND (contains_fold(name, :needles) OR contains_fold(summary, :needles));

-- name: record_seqs_field_containing
-- The items of record versions one of whose named fields contains one of some literal texts.
SELECT i.seq FROM records
JOIN items i INDEXED BY items_owner ON i.scope = records.scope AND i.owner = records.seq
WHERE records.scope = :scope AND EXISTS (
    SELECT 1 FROM json_each(:fields) f
    WHERE contains_fold(CASE f.value WHEN 'title' THEN title WHEN 'text' THEN text
        ELSE json_extract(fields, '$."' || f.value || '"') END, :needles));

-- name: record_ids_where
-- Ids of the records that have a version that passes a filter.
SELECT DISTINCT id FROM records WHERE scope = :scope AND (/*where*/);

-- name: record_ids_of_ids
-- Which of these ids are records, in whatever version.
SELECT DISTINCT id FROM records
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids));

-- name: record_ids_of_sources
-- Ids of the records that rest on these sources.
SELECT DISTINCT record_id FROM evidence INDEXED BY evidence_source
WHERE scope = :scope AND source_id IN (SELECT value FROM json_each(:ids));

-- name: evidence_from
-- Which records that have an open version rest on these sources.
SELECT e.source_id, e.record_id FROM evidence e INDEXED BY evidence_source
CROSS JOIN records r INDEXED BY records_open
    ON r.scope = e.scope AND r.id = e.record_id AND r.closed_at IS NULL
WHERE e.scope = :scope AND e.source_id IN (SELECT value FROM json_each(:ids))
    AND e.removed_at IS NULL
ORDER BY r.seq;

-- name: owners_of_record
-- The scopes of a tenant that hold a record of this id, as it is now.
SELECT s.user_id, s.agent_id FROM scopes s
CROSS JOIN records r INDEXED BY records_open
    ON r.scope = s.scope AND r.id = :id AND r.closed_at IS NULL
WHERE s.tenant = :tenant;

-- name: owners_of_message
-- The scopes of a tenant that hold a message of this id.
SELECT s.user_id, s.agent_id FROM scopes s
CROSS JOIN messages m INDEXED BY messages_id ON m.scope = s.scope AND m.id = :id
WHERE s.tenant = :tenant;

-- name: owners_of_batch
-- The scopes of a tenant in which a call wrote a batch of this id.
SELECT s.user_id, s.agent_id FROM scopes s
CROSS JOIN batches b ON b.scope = s.scope AND b.id = :id
WHERE s.tenant = :tenant;

-- name: record_all
-- Every version of every record of a scope, for a dump.
SELECT seq, id, version, kind, title, text, fields, tags, metadata, path, occurred_at, ended_at,
    recorded_at, created_at, closed_at, valid_from, valid_to, retired_at, expires_at, confidence,
    trust, sensitivity, lifecycle, supersedes, superseded_by, fingerprint, batch_id
FROM records WHERE scope = :scope AND seq > :after ORDER BY seq LIMIT :limit;

-- name: evidence_add
-- Link a record to a source; one that was taken away is linked again, with its own quote.
INSERT INTO evidence (scope, record_id, source_id, quote, added_at, batch_id)
VALUES (:scope, :record_id, :source_id, :quote, :at, :batch_id)
ON CONFLICT (scope, record_id, source_id) DO UPDATE SET removed_at = NULL,
    quote = coalesce(excluded.quote, evidence.quote)
WHERE removed_at IS NOT NULL;

-- name: evidence_load
-- Add a link from a dump, be it one that was taken away again.
INSERT INTO evidence (scope, record_id, source_id, quote, added_at, removed_at, batch_id)
VALUES (:scope, :record_id, :source_id, :quote, :added_at, :removed_at, :batch_id)
ON CONFLICT (scope, record_id, source_id) DO NOTHING;

-- name: evidence_drop
-- Take sources from a record, so that they can be given back.
UPDATE evidence SET removed_at = :at WHERE scope = :scope AND record_id = :record_id
    AND source_id IN (SELECT value FROM json_each(:sources)) AND removed_at IS NULL;

-- name: evidence_of
-- The sources of these records.
SELECT record_id, source_id, quote FROM evidence
WHERE scope = :scope AND record_id IN (SELECT value FROM json_each(:ids))
    AND removed_at IS NULL
ORDER BY record_id, added_at, source_id;

-- name: evidence_in_batch
-- What later batches rest on a batch's messages, in records that stand; not in what consolidation
-- made of them, which is made anew.
SELECT e.record_id, e.source_id, e.batch_id FROM messages m INDEXED BY messages_batch
CROSS JOIN evidence e INDEXED BY evidence_source ON e.scope = m.scope AND e.source_id = m.id
CROSS JOIN records r INDEXED BY records_open
    ON r.scope = e.scope AND r.id = e.record_id AND r.closed_at IS NULL
WHERE m.scope = :scope AND m.batch_id = :batch_id AND e.batch_id > :batch_id
    AND e.removed_at IS NULL AND json_extract(r.metadata, '$.derived') IS NULL;

-- name: evidence_on_batch
-- What later batches have added to the evidence of records that a batch wrote.
SELECT e.record_id, e.source_id, e.batch_id FROM records r INDEXED BY records_batch
CROSS JOIN evidence e ON e.scope = r.scope AND e.record_id = r.id
WHERE r.scope = :scope AND r.batch_id = :batch_id AND e.batch_id > :batch_id
    AND e.removed_at IS NULL AND json_extract(r.metadata, '$.derived') IS NULL;

-- name: evidence_all
-- All evidence of a scope, for a dump.
SELECT record_id, source_id, quote, added_at, removed_at, batch_id FROM evidence
WHERE scope = :scope ORDER BY record_id, source_id;

-- name: derived_touched
-- Open records that consolidation made and that rest on what a batch changed, hid or showed.
SELECT e.record_id FROM changes c INDEXED BY changes_batch
CROSS JOIN evidence e INDEXED BY evidence_source ON e.scope = c.scope AND e.source_id = c.target_id
CROSS JOIN records r INDEXED BY records_open
    ON r.scope = e.scope AND r.id = e.record_id AND r.closed_at IS NULL
WHERE c.scope = :scope AND c.batch_id = :batch_id
    AND json_extract(r.metadata, '$.derived') IS NOT NULL
UNION
SELECT e.record_id FROM changes c INDEXED BY changes_batch
CROSS JOIN messages m INDEXED BY messages_batch
    ON m.scope = c.scope AND m.batch_id = c.target_id
CROSS JOIN evidence e INDEXED BY evidence_source ON e.scope = m.scope AND e.source_id = m.id
CROSS JOIN records r INDEXED BY records_open
    ON r.scope = e.scope AND r.id = e.record_id AND r.closed_at IS NULL
WHERE c.scope = :scope AND c.batch_id = :batch_id AND c.op IN ('hide', 'show')
    AND json_extract(r.metadata, '$.derived') IS NOT NULL;

-- name: derived_ids
-- Which of these records consolidation made, and whether each stands.
SELECT id, max(closed_at IS NULL AND lifecycle <> 'retired') FROM records
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids))
    AND json_extract(metadata, '$.derived') IS NOT NULL
GROUP BY id;

-- name: batch_moments
-- When the messages were said that a batch brought, hid or showed.
SELECT m.occurred_at FROM messages m INDEXED BY messages_batch
WHERE m.scope = :scope AND m.batch_id = :batch_id
UNION
SELECT m.occurred_at FROM changes c INDEXED BY changes_batch
CROSS JOIN messages m INDEXED BY messages_batch
    ON m.scope = c.scope AND m.batch_id = c.target_id
WHERE c.scope = :scope AND c.batch_id = :batch_id AND c.op IN ('hide', 'show');

-- name: message_users
-- The names under which somebody spoke as the user; null for without one.
SELECT DISTINCT name FROM messages
WHERE scope = :scope AND role = 'user' AND hidden_at IS NULL;

-- name: entity_orphans
-- All entities that nothing mentions any more, but for those who speak.
SELECT seq FROM entities WHERE scope = :scope
    AND NOT EXISTS (
        SELECT 1 FROM mentions m WHERE m.scope = entities.scope AND m.entity = entities.seq)
    AND NOT EXISTS (
        SELECT 1 FROM speakers s WHERE s.scope = entities.scope AND s.name = entities.name);

-- name: entity_add
-- Add an entity.
INSERT INTO entities (scope, seq, id, name, type) VALUES (:scope, :seq, :id, :name, :type);

-- name: entity_rename
-- Call an entity by a fuller name or a surer type.
UPDATE entities SET name = :name, type = :type WHERE scope = :scope AND seq = :seq;

-- name: entity_name_add
-- Add a spelling of an entity.
INSERT INTO entity_names (scope, normal, entity, written, given)
VALUES (:scope, :normal, :entity, :written, :given)
ON CONFLICT (scope, normal, entity) DO UPDATE SET given = min(given, excluded.given);

-- name: entity_find
-- The entities that are written in one of these normal forms.
SELECT n.normal, n.given, e.seq, e.id, e.name, e.type FROM entity_names n
JOIN entities e ON e.scope = n.scope AND e.seq = n.entity
WHERE n.scope = :scope AND n.normal IN (SELECT value FROM json_each(:normals))
ORDER BY e.seq;

-- name: entity_by_id
-- The number of an entity.
SELECT seq FROM entities WHERE scope = :scope AND id = :id;

-- name: entity_names_of
-- All spellings of some entities.
SELECT entity, normal, written, given FROM entity_names INDEXED BY entity_names_entity
WHERE scope = :scope AND entity IN (SELECT value FROM json_each(:seqs)) ORDER BY entity, normal;

-- name: entity_known
-- All normal forms by which entities are known.
SELECT DISTINCT normal FROM entity_names WHERE scope = :scope AND NOT given;

-- name: entity_list
-- Entities with how much that stands mentions each, after a cursor, the most mentioned first.
SELECT e.seq, e.id, e.name, e.type, coalesce(sum(
        EXISTS (SELECT 1 FROM messages m
            WHERE m.scope = x.scope AND m.seq = x.owner AND m.hidden_at IS NULL)
        OR EXISTS (SELECT 1 FROM records r INDEXED BY records_seq
            WHERE r.scope = x.scope AND r.seq = x.owner AND r.closed_at IS NULL)), 0) AS mentioned
FROM entities e LEFT JOIN mentions x ON x.scope = e.scope AND x.entity = e.seq
WHERE e.scope = :scope AND (:type IS NULL OR e.type = :type)
    AND (:normals IS NULL OR e.seq IN (
        SELECT entity FROM entity_names WHERE scope = :scope
            AND normal IN (SELECT value FROM json_each(:normals))))
GROUP BY e.seq
HAVING (:after_seq IS NULL OR (-mentioned, e.seq) > (-:after_count, :after_seq))
    AND (mentioned > 0 OR EXISTS (
        SELECT 1 FROM speakers s WHERE s.scope = e.scope AND s.name = e.name))
ORDER BY mentioned DESC, e.seq LIMIT :limit;

-- name: entity_all
-- Every entity of a scope, for a dump.
SELECT seq, id, name, type FROM entities WHERE scope = :scope ORDER BY seq;

-- name: entity_drop_names
-- Forget all spellings of entities.
DELETE FROM entity_names INDEXED BY entity_names_entity
WHERE scope = :scope AND entity IN (SELECT value FROM json_each(:seqs));

-- name: mention_add
-- Note that a message or record version mentions an entity.
INSERT INTO mentions (scope, entity, owner) VALUES (:scope, :entity, :owner)
ON CONFLICT (scope, entity, owner) DO NOTHING;

-- name: mention_carry
-- What a version mentions, its successor mentions as long as the text is the same.
INSERT INTO mentions (scope, entity, owner)
SELECT scope, entity, :seq FROM mentions INDEXED BY mentions_owner
WHERE scope = :scope AND owner = :old
ON CONFLICT (scope, entity, owner) DO NOTHING;

-- name: mention_of
-- What mentions an entity.
SELECT owner FROM mentions WHERE scope = :scope AND entity = :entity LIMIT :limit;

-- name: mention_sources
-- Ids of the messages and open records that mention an entity, the newest first.
SELECT m.id FROM mentions x CROSS JOIN messages m ON m.scope = x.scope AND m.seq = x.owner
WHERE x.scope = :scope AND x.entity = :entity AND m.hidden_at IS NULL
UNION ALL
SELECT r.id FROM mentions x
CROSS JOIN records r INDEXED BY records_seq ON r.scope = x.scope AND r.seq = x.owner
WHERE x.scope = :scope AND x.entity = :entity AND r.closed_at IS NULL
ORDER BY 1 DESC LIMIT :limit;

-- name: links_of_messages
-- The open records that rest on these messages, and whether they are past.
SELECT m.seq, r.seq, r.lifecycle = 'past' OR coalesce(r.valid_to <= :now, 0)
FROM messages m
CROSS JOIN evidence e INDEXED BY evidence_source ON e.scope = m.scope AND e.source_id = m.id
    AND e.removed_at IS NULL
CROSS JOIN records r INDEXED BY records_open ON r.scope = e.scope AND r.id = e.record_id
WHERE m.scope = :scope AND m.seq IN (SELECT value FROM json_each(:seqs))
    AND r.closed_at IS NULL AND r.lifecycle IN ('current', 'past');

-- name: links_of_records
-- The messages that these record versions rest on.
SELECT r.seq, m.seq FROM records r INDEXED BY records_seq
CROSS JOIN evidence e ON e.scope = r.scope AND e.record_id = r.id AND e.removed_at IS NULL
CROSS JOIN messages m INDEXED BY messages_id ON m.scope = e.scope AND m.id = e.source_id
WHERE r.scope = :scope AND r.seq IN (SELECT value FROM json_each(:seqs));

-- name: links_to_episodes
-- The episodes these messages are in.
SELECT seq, episode FROM messages
WHERE scope = :scope AND seq IN (SELECT value FROM json_each(:seqs)) AND episode IS NOT NULL;

-- name: batch_add
-- Note a call that writes.
INSERT INTO batches (scope, id, verb, actor, state, request, brought, digest, idempotency_key,
    created_at, finished_at)
VALUES (:scope, :id, :verb, :actor, :state, :request, :brought, :digest, :idempotency_key, :at,
    CASE WHEN :state = 'done' THEN :at END);

-- name: batch_by_key
-- The batch that was written under an idempotency key.
SELECT id, state, digest FROM batches WHERE scope = :scope AND idempotency_key = :idempotency_key;

-- name: batch_by_digest
-- The newest batch with exactly this content that still stands.
SELECT id, state FROM batches INDEXED BY batches_digest
WHERE scope = :scope AND digest = :digest AND state <> 'undone' ORDER BY id DESC LIMIT 1;

-- name: batch_get
-- One batch.
SELECT b.id, b.verb, b.actor, b.state, b.reason, b.attempts, b.created_at, b.finished_at,
    b.idempotency_key,
    (SELECT count(*) FROM messages m WHERE m.scope = b.scope AND m.batch_id = b.id),
    (SELECT count(*) FROM changes c WHERE c.scope = b.scope AND c.batch_id = b.id),
    b.request -> '$.refused'
FROM batches b WHERE b.scope = :scope AND b.id = :id;

-- name: batch_list
-- Batches, newest first, before a cursor.
SELECT b.id, b.verb, b.actor, b.state, b.reason, b.attempts, b.created_at, b.finished_at,
    b.idempotency_key,
    (SELECT count(*) FROM messages m WHERE m.scope = b.scope AND m.batch_id = b.id),
    (SELECT count(*) FROM changes c WHERE c.scope = b.scope AND c.batch_id = b.id),
    b.request -> '$.refused'
FROM batches b
WHERE b.scope = :scope AND b.id < :before
    AND (:state IS NULL OR b.state = :state)
ORDER BY b.id DESC LIMIT :limit;

-- name: batch_next
-- The oldest batch waiting in a scope where none is being worked on.
SELECT b.scope, b.id, s.tenant, s.user_id, s.agent_id FROM batches b
JOIN scopes s ON s.scope = b.scope
WHERE b.state IN ('pending', 'running') AND (:scope IS NULL OR b.scope = :scope)
    AND coalesce(b.lease_until, 0) <= :now
    AND NOT EXISTS (
        SELECT 1 FROM batches r INDEXED BY batches_open JOIN scopes q ON q.scope = r.scope
        WHERE r.state IN ('pending', 'running') AND r.lease_until > :now
            AND q.tenant = s.tenant AND q.user_id = s.user_id)
ORDER BY b.id LIMIT 1;

-- name: batch_running
-- The batches that are being worked on, and by whom.
SELECT scope, id, lease_owner FROM batches
WHERE state IN ('pending', 'running') AND lease_until > :now AND lease_owner IS NOT NULL;

-- name: batch_counts
-- How many batches of the whole store wait, and how many have failed.
SELECT
    (SELECT count(*) FROM batches INDEXED BY batches_open WHERE state IN ('pending', 'running')),
    (SELECT count(*) FROM batches INDEXED BY batches_failed WHERE state = 'failed');

-- name: batch_lease
-- Take a batch for a while.
UPDATE batches SET state = 'running', lease_owner = :owner, lease_until = :until,
    attempts = attempts + 1
WHERE scope = :scope AND id = :id;

-- name: batch_renew
-- Keep a batch for longer, if it is still ours.
UPDATE batches SET lease_until = :until
WHERE scope = :scope AND id = :id AND lease_owner = :owner AND state = 'running';

-- name: batch_finish
-- Say how a batch ended, if it is still ours.
UPDATE batches SET state = :state, reason = :reason, lease_owner = NULL, lease_until = NULL,
    finished_at = CASE WHEN :state = 'pending' THEN NULL ELSE :at END
WHERE scope = :scope AND id = :id AND lease_owner = :owner;

-- name: batch_task
-- What a batch asked for, and whether its records are written already.
SELECT verb, request, distilled, actor FROM batches WHERE scope = :scope AND id = :id;

-- name: batch_distilled
-- Note that a batch's records are written, if it is still ours and they were not: 1 for good, 2 by
-- the local rules until a model has read the messages that the request names as `unread`.
UPDATE batches SET distilled = iif(:unread IS NULL, 1, 2),
    request = json_patch(request, json_object('unread', json(:unread), 'refused', json(:refused)))
WHERE scope = :scope AND id = :id AND lease_owner = :owner AND distilled <> 1;

-- name: batch_state
-- Set the state of a batch that nobody works on.
UPDATE batches SET state = :state, reason = :reason, lease_owner = NULL, lease_until = NULL,
    finished_at = :at
WHERE scope = :scope AND id = :id;

-- name: batch_all
-- Every batch of a scope, for a dump; one that only embedded what was loaded brought nothing.
SELECT id, verb, actor, state, reason, attempts, request, distilled, lower(hex(digest)),
    idempotency_key, created_at, finished_at
FROM batches WHERE scope = :scope AND verb <> 'load' ORDER BY id;

-- name: batch_load
-- Add a batch from a dump.
INSERT INTO batches (scope, id, verb, actor, state, reason, attempts, request, distilled, digest,
    idempotency_key, created_at, finished_at)
VALUES (:scope, :id, :verb, :actor, :state, :reason, :attempts, :request, :distilled, :digest,
    :idempotency_key, :created_at, :finished_at);

-- name: spending_add
-- Add to what a batch, or reading, has cost; what is added to an unknown cost is unknown.
INSERT INTO spending (scope, batch_id, model, calls, input_tokens, output_tokens, cached_tokens,
    milliseconds, cost)
VALUES (:scope, :batch_id, :model, :calls, :input_tokens, :output_tokens, :cached_tokens,
    :milliseconds, :cost)
ON CONFLICT (scope, batch_id, model) DO UPDATE SET
    calls = calls + excluded.calls,
    input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    cached_tokens = cached_tokens + excluded.cached_tokens,
    milliseconds = milliseconds + excluded.milliseconds,
    cost = cost + excluded.cost;

-- name: spending_of
-- What batches have cost, by model.
SELECT batch_id, model, calls, input_tokens, output_tokens, cached_tokens, milliseconds, cost
FROM spending
WHERE scope = :scope AND batch_id IN (SELECT value FROM json_each(:ids))
ORDER BY batch_id, model;

-- name: spending_all
-- What every batch of a scope has cost, for a dump.
SELECT batch_id, model, calls, input_tokens, output_tokens, cached_tokens, milliseconds, cost
FROM spending WHERE scope = :scope AND batch_id > '' ORDER BY batch_id, model;

-- name: stats_models
-- What each model has cost in a scope, writing (1) and reading (0) apart.
SELECT batch_id <> '', model, sum(calls), sum(input_tokens), sum(output_tokens),
    sum(cached_tokens), sum(milliseconds), iif(count(cost) = count(*), sum(cost), NULL)
FROM spending WHERE scope = :scope AND model <> ''
GROUP BY batch_id <> '', model ORDER BY model;

-- name: change_add
-- Log one change.
INSERT INTO changes (scope, seq, id, batch_id, op, target_id, version_before, version_after,
    actor, reason, evidence, at)
VALUES (:scope, :seq, :id, :batch_id, :op, :target_id, :version_before, :version_after, :actor,
    :reason, :evidence, :at);

-- name: change_of_target
-- The log of one record or message, oldest first.
SELECT id, batch_id, op, target_id, version_before, version_after, actor, reason, evidence, at
FROM changes INDEXED BY changes_target
WHERE scope = :scope AND target_id = :target_id ORDER BY seq;

-- name: change_of_batch
-- The log of one batch, oldest first.
SELECT id, batch_id, op, target_id, version_before, version_after, actor, reason, evidence, at
FROM changes INDEXED BY changes_batch
WHERE scope = :scope AND batch_id = :batch_id ORDER BY seq;

-- name: change_by_id
-- One entry of the log.
SELECT id, batch_id, op, target_id, version_before, version_after, actor, reason, evidence, at
FROM changes WHERE scope = :scope AND id = :id;

-- name: change_after
-- The log of a scope from a place on, oldest first.
SELECT id, batch_id, op, target_id, version_before, version_after, actor, reason, evidence, at, seq
FROM changes WHERE scope = :scope AND seq > :after ORDER BY seq LIMIT :limit;

-- name: last_seq
-- The newest sequence number: whatever is written in the store makes it grow.
SELECT last_seq FROM store;

-- name: change_all
-- The whole log of a scope, for a dump.
SELECT seq, id, batch_id, op, target_id, version_before, version_after, actor, reason, evidence, at
FROM changes WHERE scope = :scope ORDER BY seq;

-- name: erase_message_items
-- The items of messages that are to be erased.
SELECT i.seq FROM messages m INDEXED BY messages_id
CROSS JOIN items i INDEXED BY items_owner ON i.scope = m.scope AND i.owner = m.seq
WHERE m.scope = :scope AND m.id IN (SELECT value FROM json_each(:ids));

-- name: erase_record_items
-- The items of all versions of records that are to be erased.
SELECT i.seq FROM records r
CROSS JOIN items i INDEXED BY items_owner ON i.scope = r.scope AND i.owner = r.seq
WHERE r.scope = :scope AND r.id IN (SELECT value FROM json_each(:ids));

-- name: erase_item
-- Leave of an item only that it is gone, so that other processes drop it too.
UPDATE items SET header = :header, terms = x'', start = 0, stop = 0, model = -1, stamp = :stamp
WHERE scope = :scope AND seq = :seq;

-- name: erase_vector
-- Erase the vectors of an item, of whatever model.
DELETE FROM vectors WHERE scope = :scope AND seq = :seq
    AND model IN (SELECT model FROM models);

-- name: erase_brought
-- Count no longer on the messages that are about to be erased.
UPDATE batches SET brought = brought - (
    SELECT count(*) FROM messages m INDEXED BY messages_id
    WHERE m.scope = batches.scope AND m.batch_id = batches.id
        AND m.id IN (SELECT value FROM json_each(:ids)))
WHERE scope = :scope AND id IN (
    SELECT batch_id FROM messages INDEXED BY messages_id
    WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids)));

-- name: erase_messages
-- Erase messages.
DELETE FROM messages INDEXED BY messages_id WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids));

-- name: erase_records
-- Erase all versions of records.
DELETE FROM records WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids));

-- name: erase_evidence_of
-- Erase the links of records that are erased.
DELETE FROM evidence WHERE scope = :scope AND record_id IN (SELECT value FROM json_each(:ids));

-- name: erase_evidence_from
-- Erase the links to what is erased.
DELETE FROM evidence INDEXED BY evidence_source
WHERE scope = :scope AND source_id IN (SELECT value FROM json_each(:ids));

-- name: erase_mentions
-- Erase what entities were mentioned there.
DELETE FROM mentions WHERE scope = :scope AND owner IN (SELECT value FROM json_each(:owners));

-- name: erase_changes
-- Erase the log of what is erased: reasons may quote it.
DELETE FROM changes INDEXED BY changes_target WHERE scope = :scope AND target_id IN (SELECT value FROM json_each(:ids));

-- name: erase_speakers
-- Forget those of these speakers who no longer say anything.
DELETE FROM speakers WHERE scope = :scope AND hash IN (SELECT value FROM json_each(:hashes))
    AND NOT EXISTS (
        SELECT 1 FROM messages m WHERE m.scope = speakers.scope
            AND coalesce(m.name, m.role) = speakers.name);

-- name: erase_entities
-- Of these entities those that nothing mentions any more, but for those who speak.
SELECT seq FROM entities WHERE scope = :scope AND seq IN (SELECT value FROM json_each(:seqs))
    AND NOT EXISTS (
        SELECT 1 FROM mentions m WHERE m.scope = entities.scope AND m.entity = entities.seq)
    AND NOT EXISTS (
        SELECT 1 FROM speakers s WHERE s.scope = entities.scope AND s.name = entities.name);

-- name: erase_entity
-- Forget an entity.
DELETE FROM entities WHERE scope = :scope AND seq = :seq;

-- name: erase_batches
-- Of these batches those of which nothing is left, with what they would be known by. What an
-- `add` was given is gone with its messages, though it may have ended a record that stands.
SELECT id, digest, idempotency_key FROM batches
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids))
    AND NOT EXISTS (
        SELECT 1 FROM messages m WHERE m.scope = batches.scope AND m.batch_id = batches.id)
    AND (verb = 'add' OR NOT EXISTS (
        SELECT 1 FROM records r WHERE r.scope = batches.scope AND r.batch_id = batches.id));

-- name: tombstone_add
-- Note what is erased, as a hash.
INSERT INTO tombstones (scope, salt, what, mark, place, session, ref, at)
VALUES (:scope, :salt, :what, :mark, :place, :session, :ref, :at)
ON CONFLICT (scope, salt, what, mark, place) DO NOTHING;

-- name: tombstone_salt
-- The next of the salts with which a scope's tombstones are keyed.
SELECT min(salt) FROM tombstones WHERE scope = :scope AND salt > :after;

-- name: tombstone_find
-- Which of these hashes are of something erased.
SELECT mark, ref FROM tombstones
WHERE scope = :scope AND salt = :salt AND what = :what
    AND mark IN (SELECT unhex(value) FROM json_each(:marks));

-- name: tombstone_turns
-- The last erased turns of a session, newest first, to align a re-sent history with.
SELECT place, what, mark, ref FROM tombstones INDEXED BY tombstones_session
WHERE scope = :scope AND session = :session AND (:prompts OR what = 'line')
ORDER BY place DESC LIMIT :count;

-- name: tombstone_prompts
-- Which of these hashes are of system prompts that were erased in a session.
SELECT mark FROM tombstones
WHERE scope = :scope AND salt = :salt AND what = 'prompt'
    AND mark IN (SELECT unhex(value) FROM json_each(:marks)) AND session = :session;

-- name: tombstone_line
-- The erased turns that stood between two places, for a dump.
SELECT place, salt, what, mark, session, ref, at FROM tombstones INDEXED BY tombstones_session
WHERE scope = :scope AND session IS NOT NULL AND place > :after AND place <= :until
ORDER BY place;

-- name: tombstone_all
-- The tombstones of a scope but those of turns, for a dump.
SELECT salt, what, mark, ref, at FROM tombstones
WHERE scope = :scope AND session IS NULL ORDER BY salt, what, mark;

-- name: tombstone_turn_known
-- Whether the tombstone of a turn is there, wherever it stands.
SELECT 1 FROM tombstones
WHERE scope = :scope AND salt = :salt AND what = :what AND mark = :mark AND ref = :ref;

-- name: erase_marks
-- What messages that are to be erased are known by.
SELECT id, seq, session_id, role, digest, identity, batch_id, coalesce(name, role)
FROM messages INDEXED BY messages_id
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids)) ORDER BY seq;

-- name: erase_versions
-- The versions of records that are to be erased, and what they follow.
SELECT id, seq, fingerprint, batch_id, valid_from, supersedes, superseded_by FROM records
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids)) ORDER BY id, version;

-- name: erase_sealed_kept
-- Of these records those that hold a secret and rest on something that stays.
SELECT s.record_id FROM secrets s
WHERE s.scope = :scope AND s.record_id IN (SELECT value FROM json_each(:ids))
    AND EXISTS (
        SELECT 1 FROM evidence e WHERE e.scope = s.scope AND e.record_id = s.record_id
            AND e.removed_at IS NULL
            AND e.source_id NOT IN (SELECT value FROM json_each(:sources)));

-- name: erase_rebuild
-- The messages that stay and were evidence of records that go, if they were to be distilled.
SELECT DISTINCT m.seq, m.id FROM evidence e
CROSS JOIN messages m INDEXED BY messages_id ON m.scope = e.scope AND m.id = e.source_id
LEFT JOIN batches b ON b.scope = m.scope AND b.id = m.batch_id
WHERE e.scope = :scope AND e.record_id IN (SELECT value FROM json_each(:records))
    AND e.removed_at IS NULL AND m.hidden_at IS NULL
    AND m.id NOT IN (SELECT value FROM json_each(:messages))
    AND coalesce(json_extract(b.request, '$.infer'), 1) ORDER BY m.seq;

-- name: erase_supported
-- Of these records those written by hand, of which no version was written by a batch that rests on
-- these sources: they only confirmed what it said. A secret goes with the last that names it.
SELECT d.value FROM json_each(:ids) d
CROSS JOIN records w ON w.scope = :scope AND w.id = d.value AND w.version = 1
CROSS JOIN batches b ON b.scope = w.scope AND b.id = w.batch_id AND b.verb = 'create'
WHERE NOT EXISTS (SELECT 1 FROM secrets s WHERE s.scope = w.scope AND s.record_id = w.id)
    AND NOT EXISTS (
    SELECT 1 FROM records r CROSS JOIN evidence e
        ON e.scope = r.scope AND e.record_id = r.id AND e.batch_id = r.batch_id
    WHERE r.scope = :scope AND r.id = d.value
        AND e.source_id IN (SELECT value FROM json_each(:sources)));

-- name: erase_tainted
-- Of these records that stand in no chain, those that began without these sources, and the first
-- version that a batch wrote which rests on them.
SELECT r.id, min(r.version) FROM records r
WHERE r.scope = :scope AND r.id IN (SELECT value FROM json_each(:ids))
    AND EXISTS (SELECT 1 FROM evidence e
        WHERE e.scope = r.scope AND e.record_id = r.id AND e.batch_id = r.batch_id
            AND e.source_id IN (SELECT value FROM json_each(:sources)))
    AND NOT EXISTS (SELECT 1 FROM records o
        WHERE o.scope = r.scope AND o.id = r.id AND (o.supersedes IS NOT NULL
            OR o.superseded_by IS NOT NULL OR o.lifecycle <> 'current'))
    AND EXISTS (SELECT 1 FROM records o INDEXED BY records_open
        WHERE o.scope = r.scope AND o.id = r.id AND o.closed_at IS NULL)
GROUP BY r.id HAVING min(r.version) > 1;

-- name: roll_items
-- The items of a record's versions from this one on.
SELECT i.seq FROM records r
CROSS JOIN items i INDEXED BY items_owner ON i.scope = r.scope AND i.owner = r.seq
WHERE r.scope = :scope AND r.id = :id AND r.version >= :version;

-- name: roll_count
-- How many versions a record has from this one on.
SELECT count(*) FROM records WHERE scope = :scope AND id = :id AND version >= :version;

-- name: roll_evidence
-- Erase what a record was linked to by the batches that wrote its versions from this one on.
DELETE FROM evidence WHERE scope = :scope AND record_id = :id AND batch_id IN (
    SELECT batch_id FROM records WHERE scope = :scope AND id = :id AND version >= :version);

-- name: roll_changes
-- Erase the log of a record's versions from this one on.
DELETE FROM changes INDEXED BY changes_target
WHERE scope = :scope AND target_id = :id AND batch_id IN (
    SELECT batch_id FROM records WHERE scope = :scope AND id = :id AND version >= :version);

-- name: roll_versions
-- Erase a record's versions from this one on.
DELETE FROM records WHERE scope = :scope AND id = :id AND version >= :version;

-- name: roll_open
-- Let a record's version before this one stand again.
UPDATE records SET closed_at = NULL
WHERE scope = :scope AND id = :id AND version = :version - 1;

-- name: erase_secrets
-- Destroy what erased records had sealed.
DELETE FROM secrets WHERE scope = :scope AND record_id IN (SELECT value FROM json_each(:ids));

-- name: erase_secret_marks
-- Forget by what the secrets of erased records would be known.
DELETE FROM secret_marks INDEXED BY secret_marks_record
WHERE scope = :scope AND record_id IN (SELECT value FROM json_each(:ids));

-- name: entity_name_drop
-- Forget one spelling of an entity.
DELETE FROM entity_names WHERE scope = :scope AND normal = :normal AND entity = :entity;

-- name: entity_name_full
-- Make the spellings of an entity that is known by its given name alone names of its own.
UPDATE entity_names INDEXED BY entity_names_entity SET given = 0
WHERE scope = :scope AND entity = :entity;

-- name: entity_by_seq
-- Entities by sequence number.
SELECT seq, id, name, type FROM entities
WHERE scope = :scope AND seq IN (SELECT value FROM json_each(:seqs));

-- name: mention_entities
-- The entities that are mentioned there.
SELECT DISTINCT entity FROM mentions INDEXED BY mentions_owner
WHERE scope = :scope AND owner IN (SELECT value FROM json_each(:owners));

-- name: mention_texts
-- What mentions an entity, in its own words, a page after a sequence number.
SELECT x.owner, m.content, m.name, r.title, r.text FROM mentions x
LEFT JOIN messages m ON m.scope = x.scope AND m.seq = x.owner
LEFT JOIN records r INDEXED BY records_seq ON r.scope = x.scope AND r.seq = x.owner
WHERE x.scope = :scope AND x.entity = :entity AND x.owner > :after
ORDER BY x.owner LIMIT :limit;

-- name: mention_erase
-- Forget what mentions an entity that is gone.
DELETE FROM mentions WHERE scope = :scope AND entity = :entity;

-- name: message_after
-- The next messages of a session after a sequence number.
SELECT id FROM messages INDEXED BY messages_session
WHERE scope = :scope AND session_id = :session_id AND seq > :seq ORDER BY seq LIMIT :count;

-- name: message_after_all
-- The next messages after a sequence number, of whatever session.
SELECT id FROM messages WHERE scope = :scope AND seq > :seq ORDER BY seq LIMIT :count;

-- name: record_ids_named
-- Records on these messages with a name that only messages which are to be erased say.
SELECT DISTINCT r.id FROM evidence e INDEXED BY evidence_source
CROSS JOIN records r ON r.scope = e.scope AND r.id = e.record_id
CROSS JOIN mentions y INDEXED BY mentions_owner ON y.scope = r.scope AND y.owner = r.seq
WHERE e.scope = :scope AND e.source_id IN (SELECT value FROM json_each(:sources))
    AND y.entity IN (SELECT value FROM json_each(:entities))
    AND NOT EXISTS (
        SELECT 1 FROM evidence f
        CROSS JOIN messages m INDEXED BY messages_id ON m.scope = f.scope AND m.id = f.source_id
        WHERE f.scope = e.scope AND f.record_id = r.id
            AND m.id NOT IN (SELECT value FROM json_each(:ids))
            AND (EXISTS (SELECT 1 FROM mentions z
                    WHERE z.scope = m.scope AND z.entity = y.entity AND z.owner = m.seq)
                OR EXISTS (SELECT 1 FROM entity_names n INDEXED BY entity_names_entity
                    WHERE n.scope = m.scope AND n.entity = y.entity AND n.written = m.name)));

-- name: record_ids_linked
-- Records that one of these ended, or that one of these began.
SELECT id FROM records INDEXED BY records_ended
WHERE scope = :scope AND superseded_by IN (SELECT value FROM json_each(:ids))
UNION SELECT id FROM records INDEXED BY records_begun
WHERE scope = :scope AND supersedes IN (SELECT value FROM json_each(:ids));

-- name: record_relink
-- Say anew in a version what it follows, what followed it, and until when it held.
UPDATE records SET lifecycle = :lifecycle, valid_to = :valid_to, retired_at = :retired_at,
    supersedes = :supersedes, superseded_by = :superseded_by
WHERE scope = :scope AND id = :id AND version = :version;

-- name: change_relink
-- Say anew in the log what was done, without what was erased.
UPDATE changes INDEXED BY changes_id SET op = :op, reason = :reason, evidence = :evidence
WHERE scope = :scope AND id = :id;

-- name: change_citing
-- Entries of the logs of batches that cite one of these as evidence.
SELECT id, op, reason, evidence FROM changes INDEXED BY changes_batch
WHERE scope = :scope AND batch_id IN (SELECT value FROM json_each(:batches))
    AND EXISTS (SELECT 1 FROM json_each(changes.evidence) c
        WHERE c.value IN (SELECT value FROM json_each(:ids)));

-- name: erase_keyed
-- The calls with a key that had to do with these records, with what they would be known by: some of
-- what they were given is gone, and the hash is of all of it.
SELECT DISTINCT b.id, b.digest, b.idempotency_key
FROM changes c INDEXED BY changes_target
JOIN batches b ON b.scope = c.scope AND b.id = c.batch_id
WHERE c.scope = :scope AND c.target_id IN (SELECT value FROM json_each(:ids))
    AND b.idempotency_key IS NOT NULL AND b.verb <> 'add';

-- name: erase_batches_all
-- All batches of a scope that is erased whole, with what they would be known by.
SELECT id, digest, idempotency_key FROM batches WHERE scope = :scope;

-- name: batch_rebuilt
-- Note that what an erasure left was distilled again: the batch names nothing any more.
UPDATE batches SET request = nullif(json_remove(request, '$.rebuild'), '{}')
WHERE scope = :scope AND id = :id AND verb = 'forget';

-- name: batch_forget
-- Forget by what a batch would be known, and what it said; its hash would recognise it again.
UPDATE batches SET digest = NULL, idempotency_key = NULL, request = NULL, reason = NULL
WHERE scope = :scope AND id = :id;

-- name: batch_rebuilds
-- What is to be distilled again after erasures, and has not been.
SELECT id, request FROM batches
WHERE scope = :scope AND verb = 'forget' AND request IS NOT NULL;

-- name: batch_request
-- Set what a batch asks for.
UPDATE batches SET request = :request WHERE scope = :scope AND id = :id;

-- name: scope_agents
-- The agents that have memory of their own of a user.
SELECT agent_id FROM scopes s
WHERE tenant = :tenant AND user_id = :user_id AND agent_id <> '' AND (
    EXISTS (SELECT 1 FROM messages m WHERE m.scope = s.scope)
    OR EXISTS (SELECT 1 FROM records r WHERE r.scope = s.scope))
ORDER BY agent_id;

-- name: audit_named
-- Which of these ids the audit log names.
SELECT DISTINCT target_id FROM audit INDEXED BY audit_target
WHERE tenant = :tenant AND target_id IN (SELECT value FROM json_each(:ids));

-- name: stats
-- How much a scope holds.
SELECT
    (SELECT count(*) FROM messages WHERE scope = :scope AND hidden_at IS NULL),
    (SELECT count(*) FROM messages WHERE scope = :scope AND hidden_at IS NOT NULL),
    (SELECT count(*) FROM records WHERE scope = :scope),
    (SELECT count(*) FROM items WHERE scope = :scope AND model >= 0),
    (SELECT count(*) FROM items INDEXED BY items_without_vector WHERE scope = :scope AND model = 0)
        - (SELECT count(*) FROM episodes INDEXED BY episodes_open WHERE scope = :scope AND is_open),
    (SELECT count(*) FROM batches WHERE scope = :scope AND state IN ('pending', 'running')),
    (SELECT count(*) FROM batches WHERE scope = :scope AND state = 'failed');

-- name: stats_kinds
-- How many records of each kind and lifecycle are open.
SELECT kind, lifecycle, count(*) FROM records
WHERE scope = :scope AND closed_at IS NULL GROUP BY kind, lifecycle ORDER BY kind, lifecycle;

-- name: stats_themes
-- How many themes of each size there are, of records and of themes.
SELECT level, size, count(*) FROM themes WHERE scope = :scope GROUP BY level, size;

-- name: stats_moves
-- How many records are in a theme, and how many of those have changed theirs.
SELECT count(*), coalesce(sum(moves > 0), 0) FROM theme_members WHERE scope = :scope;

-- name: vault_get
-- The sealed key of the marks, and which key opens it.
SELECT key_id, sealed FROM vault;

-- name: vault_add
-- Keep the first sealed key of the marks.
INSERT INTO vault (only, key_id, sealed) VALUES (1, :key_id, :sealed)
ON CONFLICT (only) DO NOTHING;

-- name: vault_replace
-- Begin anew where the key is lost and nothing needs it any more.
UPDATE vault SET key_id = :key_id, sealed = :sealed
WHERE key_id = :lost AND NOT EXISTS (SELECT 1 FROM secrets);

-- name: vault_reseal
-- Put the key of the marks under a new key.
UPDATE vault SET key_id = :key_id, sealed = :sealed WHERE key_id = :was;

-- name: secret_put
-- Keep a sealed secret; what was sealed there before is gone.
INSERT INTO secrets (scope, record_id, key_id, sealed, sealed_at)
VALUES (:scope, :record_id, :key_id, :sealed, :at)
ON CONFLICT (scope, record_id) DO UPDATE SET key_id = excluded.key_id,
    sealed = excluded.sealed, sealed_at = excluded.sealed_at;

-- name: secret_get
-- The sealed secret of a vault entry.
SELECT key_id, sealed FROM secrets WHERE scope = :scope AND record_id = :record_id;

-- name: secret_known
-- Which of these marks are known: in the vault, in an entry that stands, or as no secret.
SELECT k.mark, k.record_id, k.state FROM secret_marks k
WHERE k.scope = :scope AND k.mark IN (SELECT unhex(value) FROM json_each(:marks))
    AND (k.state = 'released' OR EXISTS (SELECT 1 FROM records r INDEXED BY records_open
        WHERE r.scope = k.scope AND r.id = k.record_id AND r.closed_at IS NULL));

-- name: secret_mark_put
-- Know a secret again as this entry's.
INSERT INTO secret_marks (scope, mark, record_id) VALUES (:scope, :mark, :record_id)
ON CONFLICT (scope, mark) DO UPDATE SET record_id = excluded.record_id, state = 'sealed';

-- name: secret_marks_replace
-- Know the earlier secrets of an entry as replaced.
UPDATE secret_marks INDEXED BY secret_marks_record SET state = 'replaced'
WHERE scope = :scope AND record_id = :record_id;

-- name: secret_replaced
-- Whether an entry ever had another secret.
SELECT count(*) FROM secret_marks
WHERE scope = :scope AND record_id = :record_id AND state = 'replaced';

-- name: secret_refit
-- Give an entry with another secret its new fingerprint.
UPDATE records SET fingerprint = :fingerprint
WHERE scope = :scope AND id = :record_id AND closed_at IS NULL;

-- name: secret_all
-- All sealed secrets of a scope, for a dump.
SELECT record_id, key_id, sealed, sealed_at FROM secrets WHERE scope = :scope;

-- name: secret_marks_all
-- All marks of a scope, for a dump.
SELECT mark, record_id, state FROM secret_marks WHERE scope = :scope;

-- name: secret_mark_load
-- Know a secret of a dump again, unless it is known here.
INSERT INTO secret_marks (scope, mark, record_id, state)
VALUES (:scope, :mark, :record_id, :state)
ON CONFLICT (scope, mark) DO NOTHING;

-- name: secret_other
-- A page of the secrets that need another key than this one, with whose they are.
SELECT c.tenant, c.user_id, c.agent_id, s.scope, s.record_id, s.key_id, s.sealed
FROM secrets s CROSS JOIN scopes c ON c.scope = s.scope
WHERE (s.scope, s.record_id) > (:after_scope, :after_id) AND s.key_id <> :key_id
ORDER BY s.scope, s.record_id LIMIT :limit;

-- name: secret_count_other
-- How many secrets need another key than this one.
SELECT count(*) FROM secrets WHERE key_id <> :key_id;

-- name: secret_reseal
-- Put a secret under a new key, unless it is another one by now.
UPDATE secrets SET key_id = :key_id, sealed = :sealed
WHERE scope = :scope AND record_id = :record_id AND sealed = :old;

-- name: secret_release
-- Know what was sealed as no secret from now on.
UPDATE secret_marks SET state = 'released' WHERE scope = :scope AND mark = :mark;

-- name: secret_marks_drop
-- Forget the earlier secrets of an entry that is gone.
DELETE FROM secret_marks
WHERE scope = :scope AND record_id = :record_id AND state <> 'released';

-- name: secret_drop
-- Destroy what was sealed for an entry.
DELETE FROM secrets WHERE scope = :scope AND record_id = :record_id;

-- name: name_all
-- All spellings of a scope's entities.
SELECT n.entity, e.id, n.written FROM entity_names n
CROSS JOIN entities e ON e.scope = n.scope AND e.seq = n.entity
WHERE n.scope = :scope;

-- name: message_seq
-- Where a message stands, if it is still the one that was read.
SELECT seq FROM messages WHERE scope = :scope AND id = :id AND digest = :digest;

-- name: record_seq
-- Where a version of a record stands.
SELECT seq FROM records WHERE scope = :scope AND id = :id AND version = :version;

-- name: rewrite_messages
-- Messages whose text may change, with the hashes they are known by.
SELECT seq, id, external_id, session_id, role, name, content, parts, occurred_at, recorded_at,
    hidden_at, trust, tags, metadata, spans, batch_id, digest, identity
FROM messages INDEXED BY messages_id
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids));

-- name: evidence_quotes
-- What these records quote, whether it is theirs still or not.
SELECT record_id, source_id, quote FROM evidence
WHERE scope = :scope AND record_id IN (SELECT value FROM json_each(:ids)) AND quote IS NOT NULL;

-- name: secret_sources
-- What names the secrets of these vault entries.
SELECT DISTINCT e.record_id, e.source_id FROM evidence e
CROSS JOIN secrets s ON s.scope = e.scope AND s.record_id = e.record_id
WHERE e.scope = :scope AND e.record_id IN (SELECT value FROM json_each(:ids));

-- name: rewrite_message
-- Change what a message says.
UPDATE messages SET name = :name, content = :content, parts = :parts, tags = :tags,
    metadata = :metadata, spans = :spans, digest = :digest, identity = :identity
WHERE scope = :scope AND seq = :seq;

-- name: rewrite_record
-- Change what a version of a record says.
UPDATE records SET title = :title, text = :text, fields = :fields, tags = :tags,
    metadata = :metadata, path = :path, fingerprint = :fingerprint
WHERE scope = :scope AND id = :id AND version = :version;

-- name: rewrite_batches
-- Forget the hash of what these batches brought: it is of the text as it was.
UPDATE batches SET digest = NULL
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids));

-- name: rewrite_item
-- Index a passage anew; its old vector no longer fits.
UPDATE items SET header = :header, terms = :terms, start = :start, stop = :stop, model = 0,
    stamp = :stamp
WHERE scope = :scope AND seq = :seq;

-- name: rewrite_quote
-- Change what a record quotes of a source.
UPDATE evidence SET quote = :quote
WHERE scope = :scope AND record_id = :record_id AND source_id = :source_id;

-- name: rewrite_reason
-- Change what was given as the reason of a change.
UPDATE changes SET reason = :reason WHERE scope = :scope AND id = :id;

-- name: audit_add
-- Note what was done with something protected.
INSERT INTO audit (tenant, user_id, agent_id, at, actor, action, target_id, reason, detail)
VALUES (:tenant, :user_id, :agent_id, :at, :actor, :action, :target_id, :reason, :detail);

-- name: audit_list
-- A page of the audit log of a tenant, or of one scope, newest first.
SELECT seq, user_id, agent_id, at, actor, action, target_id, reason, detail
FROM audit INDEXED BY audit_tenant
WHERE tenant = :tenant AND seq < :before AND at >= :since AND at < :until
    AND (:user_id IS NULL OR (user_id = :user_id AND agent_id = :agent_id))
ORDER BY seq DESC LIMIT :limit;

-- name: audit_scrub
-- Take the id and the reasons of something erased out of the log; that it happened stays.
UPDATE audit SET target_id = :mark, reason = ''
WHERE tenant = :tenant AND target_id = :target_id
    AND user_id = :user_id AND agent_id = :agent_id;

-- name: verify_broken
-- What breaks the invariants of every sound store: which one, and the id or item it is about.
SELECT 'items of nothing that is there' AS what, 'item ' || i.seq AS id FROM items i
WHERE i.scope = :scope AND i.model >= 0
    AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.scope = i.scope AND m.seq = i.owner)
    AND NOT EXISTS (SELECT 1 FROM records r WHERE r.scope = i.scope AND r.seq = i.owner)
    AND NOT EXISTS (SELECT 1 FROM episodes e WHERE e.scope = i.scope AND e.seq = i.owner)
    AND NOT EXISTS (SELECT 1 FROM entities n WHERE n.scope = i.scope AND n.seq = i.owner)
    AND NOT EXISTS (SELECT 1 FROM themes t WHERE t.scope = i.scope AND t.seq = i.owner)
UNION ALL
SELECT 'erased items of something that is there', 'item ' || i.seq FROM items i
WHERE i.scope = :scope AND i.model < 0 AND (
    EXISTS (SELECT 1 FROM messages m WHERE m.scope = i.scope AND m.seq = i.owner)
    OR EXISTS (SELECT 1 FROM records r WHERE r.scope = i.scope AND r.seq = i.owner)
    OR EXISTS (SELECT 1 FROM episodes e WHERE e.scope = i.scope AND e.seq = i.owner)
    OR EXISTS (SELECT 1 FROM entities n WHERE n.scope = i.scope AND n.seq = i.owner)
    OR EXISTS (SELECT 1 FROM themes t WHERE t.scope = i.scope AND t.seq = i.owner))
UNION ALL
SELECT 'erased items of which something is left', 'item ' || i.seq FROM items i
WHERE i.scope = :scope AND (i.model < 0 OR i.header = :gone)
    AND (i.model >= 0 OR i.header <> :gone OR length(i.terms) > 0 OR i.start <> 0 OR i.stop <> 0)
UNION ALL
SELECT 'vectors of erased items', 'item ' || v.seq FROM items i
JOIN vectors v ON v.scope = i.scope AND v.seq = i.seq AND v.model IN (SELECT model FROM models)
WHERE i.scope = :scope AND i.model < 0
UNION ALL
SELECT 'batches of whose messages some are missing', b.id FROM batches b
WHERE b.scope = :scope AND b.brought > (SELECT count(*) FROM messages m INDEXED BY messages_batch
    WHERE m.scope = b.scope AND m.batch_id = b.id)
UNION ALL
SELECT 'costs of batches that are gone', c.batch_id FROM spending c
WHERE c.scope = :scope AND c.batch_id > ''
    AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.scope = c.scope AND b.id = c.batch_id)
UNION ALL
SELECT 'comparisons of records that are gone', j.one || ' with ' || j.other FROM judged j
WHERE j.scope = :scope AND (
    NOT EXISTS (SELECT 1 FROM records r
        WHERE r.scope = j.scope AND r.id = j.one AND r.version = j.one_version)
    OR NOT EXISTS (SELECT 1 FROM records r
        WHERE r.scope = j.scope AND r.id = j.other AND r.version = j.other_version))
UNION ALL
SELECT 'messages of an episode that is gone', m.id FROM messages m
WHERE m.scope = :scope AND m.episode IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM episodes e WHERE e.scope = m.scope AND e.seq = m.episode)
UNION ALL
SELECT 'episodes without messages', e.id FROM episodes e
WHERE e.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.scope = e.scope AND m.episode = e.seq)
UNION ALL
SELECT 'mentions of what is gone', 'item ' || x.owner FROM mentions x
WHERE x.scope = :scope AND (
    NOT EXISTS (SELECT 1 FROM entities n WHERE n.scope = x.scope AND n.seq = x.entity)
    OR (NOT EXISTS (SELECT 1 FROM messages m WHERE m.scope = x.scope AND m.seq = x.owner)
        AND NOT EXISTS (SELECT 1 FROM records r WHERE r.scope = x.scope AND r.seq = x.owner)))
UNION ALL
SELECT 'spellings of an entity that is gone', 'item ' || y.entity FROM entity_names y
WHERE y.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM entities n WHERE n.scope = y.scope AND n.seq = y.entity)
UNION ALL
SELECT 'messages that cannot be found because their index entry is missing', m.id
FROM messages m WHERE m.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.scope = m.scope AND i.owner = m.seq)
UNION ALL
SELECT 'record versions without an index entry', r.id || ' version ' || r.version
FROM records r WHERE r.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.scope = r.scope AND i.owner = r.seq)
UNION ALL
SELECT 'episodes without an index entry', e.id FROM episodes e WHERE e.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.scope = e.scope AND i.seq = e.seq)
UNION ALL
SELECT 'entities without an index entry', n.id FROM entities n WHERE n.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.scope = n.scope AND i.seq = n.seq)
UNION ALL
SELECT 'themes without an index entry', t.id FROM themes t WHERE t.scope = :scope AND t.level = 0
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.scope = t.scope AND i.seq = t.seq)
UNION ALL
SELECT 'members of a theme that is gone', m.record_id FROM theme_members m
WHERE m.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM themes t WHERE t.scope = m.scope AND t.seq = m.theme)
UNION ALL
SELECT 'members of themes that are gone themselves', m.record_id FROM theme_members m
JOIN scopes c ON c.scope = m.scope AND c.themed > 0
WHERE m.scope = :scope AND NOT EXISTS (
    SELECT 1 FROM records r
    WHERE r.scope = m.scope AND r.id = m.record_id AND r.closed_at IS NULL)
UNION ALL
SELECT 'themes that count other members than they have', t.id FROM themes t
WHERE t.scope = :scope AND t.size <> CASE t.level
    WHEN 0 THEN (SELECT count(*) FROM theme_members m INDEXED BY theme_members_theme
        WHERE m.scope = t.scope AND m.theme = t.seq)
    ELSE (SELECT count(*) FROM themes u INDEXED BY themes_parent
        WHERE u.scope = t.scope AND u.parent = t.seq) END
UNION ALL
SELECT 'themes under one that is gone', t.id FROM themes t
WHERE t.scope = :scope AND t.parent IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM themes p WHERE p.scope = t.scope AND p.seq = t.parent)
UNION ALL
SELECT 'vectors without an item', 'item ' || v.seq FROM vectors v
WHERE v.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.scope = v.scope AND i.seq = v.seq)
UNION ALL
SELECT 'items said to have a vector that have none', 'item ' || i.seq FROM items i
WHERE i.scope = :scope AND i.model > 0 AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.scope = i.scope AND v.model = i.model AND v.seq = i.seq)
UNION ALL
SELECT 'damaged index entries', 'item ' || i.seq FROM items i
WHERE i.scope = :scope AND (length(i.header) <> 80 OR length(i.terms) % 10 <> 0)
UNION ALL
SELECT 'damaged vectors', 'item ' || v.seq FROM vectors v JOIN models m ON m.model = v.model
WHERE v.scope = :scope AND length(v.vector) <> 2 * m.dimensions
UNION ALL
SELECT 'evidence of records that are gone', e.record_id FROM evidence e
WHERE e.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM records r WHERE r.scope = e.scope AND r.id = e.record_id)
UNION ALL
SELECT 'messages of a batch that is not noted', m.id FROM messages m
WHERE m.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.scope = m.scope AND b.id = m.batch_id)
UNION ALL
SELECT 'changes of a batch that is not noted', c.id FROM changes c
WHERE c.scope = :scope
    AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.scope = c.scope AND b.id = c.batch_id)
UNION ALL
SELECT 'records with a gap between their versions', id FROM records WHERE scope = :scope
GROUP BY id HAVING max(version) <> count(*)
UNION ALL
SELECT 'records with more than one open version', id FROM records WHERE scope = :scope
GROUP BY id HAVING sum(closed_at IS NULL) > 1
UNION ALL
SELECT 'record versions that stand though a later one does, or did', o.id || ' version ' || o.version
FROM records o JOIN records n ON n.scope = o.scope AND n.id = o.id AND n.version = o.version + 1
WHERE o.scope = :scope AND o.closed_at IS NULL
UNION ALL
SELECT 'record versions that were closed after the next began', o.id || ' version ' || o.version
FROM records o JOIN records n ON n.scope = o.scope AND n.id = o.id AND n.version = o.version + 1
WHERE o.scope = :scope AND o.closed_at > n.recorded_at
UNION ALL
SELECT 'records whose successor names nothing that it followed', r.id FROM records r
JOIN records n ON n.scope = r.scope AND n.id = r.superseded_by AND n.closed_at IS NULL
WHERE r.scope = :scope AND r.closed_at IS NULL AND r.superseded_by IS NOT NULL
    AND n.supersedes IS NULL
UNION ALL
SELECT 'records that took the place of one that names another', n.id FROM records n
JOIN records r ON r.scope = n.scope AND r.id = n.supersedes AND r.closed_at IS NULL
WHERE n.scope = :scope AND n.closed_at IS NULL AND n.supersedes IS NOT NULL
    AND r.superseded_by <> n.id
UNION ALL
SELECT 'batches that ended and that somebody still works on', b.id FROM batches b
WHERE b.scope = :scope AND b.state NOT IN ('pending', 'running') AND b.lease_owner IS NOT NULL
UNION ALL
SELECT 'batches that nobody is working on though they are running', b.id FROM batches b
WHERE b.scope = :scope AND b.state = 'running' AND (b.lease_owner IS NULL OR b.lease_until IS NULL)
UNION ALL
SELECT 'batches that wait though they are finished', b.id FROM batches b
WHERE b.scope = :scope AND b.state IN ('pending', 'running') AND b.finished_at IS NOT NULL
UNION ALL
SELECT 'batches that are done and were never distilled', b.id FROM batches b
WHERE b.scope = :scope AND b.verb = 'add' AND b.state = 'done' AND NOT b.distilled
    AND json_extract(b.request, '$.infer') AND EXISTS (
        SELECT 1 FROM messages m INDEXED BY messages_batch WHERE m.scope = b.scope
            AND m.batch_id = b.id AND m.hidden_at IS NULL AND m.episode IS NULL)
UNION ALL
SELECT 'messages that were distilled and are in no episode', m.id FROM batches b
JOIN messages m INDEXED BY messages_batch ON m.scope = b.scope AND m.batch_id = b.id
WHERE b.scope = :scope AND b.distilled AND b.brought IS NOT NULL
    AND m.hidden_at IS NULL AND m.episode IS NULL
UNION ALL
SELECT 'episodes of a batch that is not distilled', e.id FROM episodes e
JOIN batches b ON b.scope = e.scope AND b.id = e.batch_id
WHERE e.scope = :scope AND b.verb = 'add' AND NOT b.distilled
UNION ALL
SELECT 'secrets without an entry in the vault', s.record_id FROM secrets s
WHERE s.scope = :scope AND NOT EXISTS (
    SELECT 1 FROM records r WHERE r.scope = s.scope AND r.id = s.record_id AND r.kind = 'vault')
UNION ALL
SELECT 'entries of the vault without their secret', r.id FROM records r
WHERE r.scope = :scope AND r.closed_at IS NULL AND r.kind = 'vault'
    AND json_extract(r.fields, '$.sealed') AND NOT EXISTS (
        SELECT 1 FROM secrets s WHERE s.scope = r.scope AND s.record_id = r.id)
    AND EXISTS (SELECT 1 FROM batches b WHERE b.scope = r.scope AND b.id = r.batch_id
        AND b.brought IS NOT NULL)
UNION ALL
SELECT 'items newer than their scope says', 'item ' || i.seq FROM items i
JOIN scopes s ON s.scope = i.scope WHERE i.scope = :scope AND i.stamp > s.stamp
UNION ALL
SELECT 'items that the store has not counted', 'item ' || i.seq FROM items i, store
WHERE i.scope = :scope AND i.seq > store.last_seq;

-- name: verify_dangling
-- What points to something that is not there; it may have been erased, and then that is right.
-- What a dump brought may point to what the rest of the dump will bring.
SELECT 'evidence from messages that are gone' AS what, e.record_id AS id, e.source_id AS target
FROM evidence e JOIN batches b ON b.scope = e.scope AND b.id = e.batch_id
WHERE e.scope = :scope AND b.brought IS NOT NULL
    AND length(e.source_id) = 36 AND e.source_id GLOB 'msg_*'
    AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.scope = e.scope AND m.id = e.source_id)
UNION ALL
SELECT 'records that took the place of one that is gone', r.id, r.supersedes FROM records r
JOIN batches b ON b.scope = r.scope AND b.id = r.batch_id
WHERE r.scope = :scope AND b.brought IS NOT NULL AND r.closed_at IS NULL
    AND r.supersedes IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM records o WHERE o.scope = r.scope AND o.id = r.supersedes)
UNION ALL
SELECT 'records whose successor is gone', r.id, r.superseded_by FROM records r
JOIN batches b ON b.scope = r.scope AND b.id = r.batch_id
WHERE r.scope = :scope AND b.brought IS NOT NULL AND r.closed_at IS NULL
    AND r.superseded_by IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM records n WHERE n.scope = r.scope AND n.id = r.superseded_by);

-- name: verify_ids
-- Every id that a scope holds, and where; none of them may be of something erased.
SELECT 'messages', id FROM messages WHERE scope = :scope
UNION ALL
SELECT 'records', id FROM records WHERE scope = :scope
UNION ALL
SELECT 'evidence', record_id FROM evidence WHERE scope = :scope
UNION ALL
SELECT 'evidence', source_id FROM evidence WHERE scope = :scope
UNION ALL
SELECT 'changes', target_id FROM changes WHERE scope = :scope
UNION ALL
SELECT 'themes', record_id FROM theme_members WHERE scope = :scope
UNION ALL
SELECT 'comparisons', one FROM judged WHERE scope = :scope
UNION ALL
SELECT 'comparisons', other FROM judged WHERE scope = :scope
UNION ALL
SELECT 'secrets', record_id FROM secrets WHERE scope = :scope;

-- name: verify_loaded
-- The batches that a dump brought.
SELECT id FROM batches WHERE scope = :scope AND brought IS NULL;

-- name: verify_themes
-- What the index must say of the themes of records.
SELECT seq, id, name, summary, ended_at, changed_at FROM themes
WHERE scope = :scope AND level = 0 ORDER BY seq;

-- name: verify_items
-- The index entries of some owners, in the order of their text.
SELECT owner, seq, start, stop, header, terms FROM items INDEXED BY items_owner
WHERE scope = :scope AND owner IN (SELECT value FROM json_each(:owners)) ORDER BY owner, seq;

-- name: record_vectors
-- The vectors of the passages of the open versions of records.
SELECT r.id, v.vector FROM records r INDEXED BY records_open
CROSS JOIN items i INDEXED BY items_owner ON i.scope = r.scope AND i.owner = r.seq
CROSS JOIN vectors v ON v.scope = i.scope AND v.model = :model AND v.seq = i.seq
WHERE r.scope = :scope AND r.closed_at IS NULL AND r.id IN (SELECT value FROM json_each(:ids));

-- name: judged_known
-- The pairs that were judged, both of whose records say what they said then, and stand.
SELECT j.one, j.other, j.verdict, j.batch_id FROM judged j
JOIN records a ON a.scope = j.scope AND a.id = j.one AND a.version = j.one_version
JOIN records b ON b.scope = j.scope AND b.id = j.other AND b.version = j.other_version
JOIN records c INDEXED BY records_open
    ON c.scope = j.scope AND c.id = j.one AND c.closed_at IS NULL
JOIN records d INDEXED BY records_open
    ON d.scope = j.scope AND d.id = j.other AND d.closed_at IS NULL
WHERE j.scope = :scope
    AND c.title = a.title AND c.text = a.text AND c.fields = a.fields
    AND d.title = b.title AND d.text = b.text AND d.fields = b.fields
ORDER BY j.batch_id;

-- name: judged_put
-- Note how a pair of records was judged.
INSERT INTO judged (scope, one, other, one_version, other_version, verdict, batch_id)
VALUES (:scope, :one, :other, :one_version, :other_version, :verdict, :batch_id)
ON CONFLICT (scope, one, other, batch_id) DO NOTHING;

-- name: judged_reasons
-- The reasons of changes by consolidations that compared one of these records with another.
SELECT c.id, c.reason FROM changes c INDEXED BY changes_batch
WHERE c.scope = :scope AND c.batch_id IN (
    SELECT batch_id FROM judged
    WHERE scope = :scope AND one IN (SELECT value FROM json_each(:ids))
    UNION
    SELECT batch_id FROM judged INDEXED BY judged_other
    WHERE scope = :scope AND other IN (SELECT value FROM json_each(:ids)));

-- name: erase_judged
-- Forget how these records compare with those after them.
DELETE FROM judged WHERE scope = :scope AND one IN (SELECT value FROM json_each(:ids));

-- name: erase_judged_after
-- Forget how these records compare with those before them.
DELETE FROM judged INDEXED BY judged_other
WHERE scope = :scope AND other IN (SELECT value FROM json_each(:ids));

-- name: theme_state
-- How far records are in their themes, when those last changed, and the model in use.
SELECT c.themed, c.themes, s.model, coalesce(m.dimensions, 0) FROM scopes c, store s
LEFT JOIN models m ON m.model = s.model WHERE c.scope = :scope;

-- name: theme_advance
-- Note how far records are in their themes, and that themes changed.
UPDATE scopes SET themed = :themed, themes = max(themes, :stamp) WHERE scope = :scope;

-- name: theme_touch
-- Note that themes changed.
UPDATE scopes SET themes = :stamp WHERE scope = :scope;

-- name: theme_rescan
-- Look through the records again from a place on.
UPDATE scopes SET themed = min(themed, :start) WHERE scope = :scope;

-- name: theme_arrivals
-- Open versions from a place on that are not in a theme as they are now, in order.
SELECT r.seq, r.id, m.theme FROM records r INDEXED BY records_seq
LEFT JOIN theme_members m ON m.scope = r.scope AND m.record_id = r.id
WHERE r.scope = :scope AND r.seq >= :start AND r.closed_at IS NULL AND m.seq IS NOT r.seq
    AND r.kind IN (SELECT value FROM json_each(:kinds))
ORDER BY r.seq LIMIT :limit;

-- name: theme_departed
-- Members that have no open version any more.
SELECT m.record_id, m.theme FROM theme_members m
WHERE m.scope = :scope AND NOT EXISTS (
    SELECT 1 FROM records r INDEXED BY records_open
    WHERE r.scope = m.scope AND r.id = m.record_id AND r.closed_at IS NULL);

-- name: theme_vectors
-- The vectors of the passages of these owners.
SELECT i.owner, v.vector FROM items i INDEXED BY items_owner
JOIN vectors v ON v.scope = i.scope AND v.model = :model AND v.seq = i.seq
WHERE i.scope = :scope AND i.owner IN (SELECT value FROM json_each(:owners)) ORDER BY i.seq;

-- name: theme_all
-- Every theme of a scope.
SELECT seq, id, level, parent, name, topics, size, sum, started_at, ended_at, named
FROM themes WHERE scope = :scope ORDER BY seq;

-- name: theme_summary
-- What the summary of a theme says.
SELECT summary FROM themes WHERE scope = :scope AND seq = :seq;

-- name: theme_named
-- The themes that a model has named, by whom, and the first version in each.
SELECT t.seq, t.parent, t.named,
    (SELECT min(f.seq) FROM theme_members f INDEXED BY theme_members_theme
     WHERE f.scope = t.scope AND f.theme = t.seq)
FROM themes t WHERE t.scope = :scope AND t.named IS NOT NULL;

-- name: theme_sums
-- The children of a theme, with what their centroids are made from.
SELECT seq, sum FROM themes INDEXED BY themes_parent
WHERE scope = :scope AND parent = :parent ORDER BY seq;

-- name: theme_members_of
-- The members of a theme.
SELECT record_id, seq FROM theme_members INDEXED BY theme_members_theme
WHERE scope = :scope AND theme = :theme ORDER BY seq;

-- name: theme_versions
-- Which version of a record counts in its theme.
SELECT record_id, seq FROM theme_members
WHERE scope = :scope AND record_id IN (SELECT value FROM json_each(:ids));

-- name: theme_put
-- Write a theme, or what has become of it.
INSERT INTO themes (scope, seq, id, level, parent, name, summary, topics, size, sum, started_at,
    ended_at, created_at, changed_at, named)
VALUES (:scope, :seq, :id, :level, NULL, :name, :summary, :topics, :size, :sum, :started_at,
    :ended_at, :at, :at, :named)
ON CONFLICT (scope, seq) DO UPDATE SET
    name = excluded.name, summary = excluded.summary, topics = excluded.topics,
    size = excluded.size, sum = excluded.sum, started_at = excluded.started_at,
    ended_at = excluded.ended_at, changed_at = excluded.changed_at, named = excluded.named;

-- name: theme_said
-- When the first of what a record rests on was said.
SELECT e.record_id, min(m.occurred_at) FROM evidence e
JOIN messages m INDEXED BY messages_id ON m.scope = e.scope AND m.id = e.source_id
WHERE e.scope = :scope AND e.record_id IN (SELECT value FROM json_each(:ids))
    AND e.removed_at IS NULL
GROUP BY e.record_id;

-- name: theme_placed
-- Every record that is in a theme.
SELECT record_id, seq, theme FROM theme_members WHERE scope = :scope ORDER BY seq;

-- name: theme_adopt
-- Put a theme under another.
UPDATE themes SET parent = :parent WHERE scope = :scope AND seq = :seq;

-- name: theme_drop
-- Drop a theme.
DELETE FROM themes WHERE scope = :scope AND seq = :seq;

-- name: theme_orphan
-- Take the children of a theme out of it.
UPDATE themes SET parent = NULL WHERE scope = :scope AND parent = :seq;

-- name: theme_member_put
-- Put a record into a theme.
INSERT INTO theme_members (scope, record_id, seq, theme) VALUES (:scope, :record_id, :seq, :theme)
ON CONFLICT (scope, record_id) DO UPDATE SET
    moves = moves + (theme <> excluded.theme), seq = excluded.seq, theme = excluded.theme;

-- name: theme_member_drop
-- Take a record out of its theme.
DELETE FROM theme_members WHERE scope = :scope AND record_id = :record_id;

-- name: theme_members_drop
-- Take all records out of a theme.
DELETE FROM theme_members WHERE scope = :scope AND theme = :theme;

-- name: theme_of_records
-- The themes these records are in, their parents, and the first version in each.
SELECT t.seq, t.parent,
    (SELECT min(f.seq) FROM theme_members f INDEXED BY theme_members_theme
     WHERE f.scope = t.scope AND f.theme = t.seq)
FROM themes t WHERE t.scope = :scope AND t.seq IN (
    SELECT m.theme FROM theme_members m
    WHERE m.scope = :scope AND m.record_id IN (SELECT value FROM json_each(:ids)));

-- name: theme_by_seq
-- Themes behind found items.
SELECT seq, id, level, (
    SELECT p.id FROM themes p WHERE p.scope = t.scope AND p.seq = t.parent AND p.size > 1),
    name, summary, started_at, ended_at, size, created_at, changed_at
FROM themes t WHERE scope = :scope AND seq IN (SELECT value FROM json_each(:seqs));

-- name: theme_by_id
-- Themes by id.
SELECT seq, id, level, (
    SELECT p.id FROM themes p WHERE p.scope = t.scope AND p.seq = t.parent AND p.size > 1),
    name, summary, started_at, ended_at, size, created_at, changed_at
FROM themes t INDEXED BY themes_id
WHERE scope = :scope AND id IN (SELECT value FROM json_each(:ids));

-- name: theme_top
-- The themes at the top of the tree after a cursor, those of the most records first; a parent of
-- one is none.
WITH top AS (
    SELECT *, CASE level WHEN 0 THEN size ELSE (
            SELECT sum(u.size) FROM themes u INDEXED BY themes_parent
            WHERE u.scope = t.scope AND u.parent = t.seq) END AS held
    FROM themes t
    WHERE scope = :scope AND CASE level
        WHEN 1 THEN size > 1
        ELSE coalesce(
            (SELECT p.size FROM themes p WHERE p.scope = t.scope AND p.seq = t.parent), 1) < 2
        END)
SELECT seq, id, level, NULL, name, summary, started_at, ended_at, size, created_at, changed_at, held
FROM top WHERE held < :size OR (held = :size AND seq > :after)
ORDER BY held DESC, seq LIMIT :limit;

-- name: theme_under
-- The themes under another after a cursor, the largest first.
SELECT seq, id, level, (
    SELECT p.id FROM themes p WHERE p.scope = t.scope AND p.seq = t.parent AND p.size > 1),
    name, summary, started_at, ended_at, size, created_at, changed_at, size
FROM themes t INDEXED BY themes_parent
WHERE scope = :scope AND parent = (
        SELECT p.seq FROM themes p INDEXED BY themes_id WHERE p.scope = :scope AND p.id = :parent)
    AND (size < :size OR (size = :size AND seq > :after))
ORDER BY size DESC, seq LIMIT :limit;

-- name: theme_record_ids
-- The records of a theme that stand, oldest first.
SELECT m.record_id FROM theme_members m INDEXED BY theme_members_theme
JOIN records r ON r.scope = m.scope AND r.id = m.record_id AND r.closed_at IS NULL
WHERE m.scope = :scope AND m.theme = :theme AND r.lifecycle <> 'retired' ORDER BY m.seq;

-- name: theme_namesakes
-- Other themes of the same name and level.
SELECT o.id FROM themes t INDEXED BY themes_id
JOIN themes o INDEXED BY themes_name ON o.scope = t.scope AND o.name = t.name AND o.seq <> t.seq
    AND o.level = t.level
WHERE t.scope = :scope AND t.id = :id AND t.name = :name ORDER BY o.started_at, o.seq;

-- name: api_key_add
-- Keep a new key, unless one of its name is in use.
INSERT INTO api_keys (id, tenant, name, hash, user_id, agent_id, permissions, created_at,
    expires_at)
VALUES (:id, :tenant, :name, :hash, :user_id, :agent_id, :permissions, :at, :expires_at)
ON CONFLICT (tenant, name) WHERE revoked_at IS NULL DO NOTHING;

-- name: api_key_by_id
-- A key by the part of it that may be shown, whichever tenant's it is.
SELECT id, tenant, name, user_id, agent_id, permissions, created_at, expires_at, revoked_at, hash
FROM api_keys WHERE id = :id;

-- name: api_key_list
-- A page of a tenant's keys, oldest first.
SELECT id, tenant, name, user_id, agent_id, permissions, created_at, expires_at, revoked_at, hash
FROM api_keys INDEXED BY api_keys_tenant
WHERE tenant = :tenant AND (created_at, id) > (:after_time, :after_id)
    AND (:revoked OR revoked_at IS NULL)
ORDER BY created_at, id LIMIT :limit;

-- name: api_key_revoke
-- Let a key open nothing any more.
UPDATE api_keys SET revoked_at = :at
WHERE id = :id AND tenant = :tenant AND revoked_at IS NULL;

-- name: api_key_any
-- Whether a key was ever made.
SELECT EXISTS (SELECT 1 FROM api_keys);
