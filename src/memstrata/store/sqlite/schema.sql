-- The schema as a fresh store has it; `migrations/` builds the same step by step.
-- Instants are integers: microseconds since the Unix epoch, UTC. JSON columns hold UTF-8 text.

-- One row: what this file is, and the counters everything is numbered by.
CREATE TABLE store (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    uuid TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_seq INTEGER NOT NULL DEFAULT 0,
    model INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Embedding models whose vectors the file holds; `store.model` is the one in use.
CREATE TABLE models (
    model INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL
) STRICT;

-- What holds for all of a tenant's memory: which managers write it, by what strategy, and what they
-- are told besides; null is the default.
CREATE TABLE tenants (
    tenant TEXT PRIMARY KEY,
    managers TEXT,
    strategy TEXT,
    instructions TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    timezone TEXT,
    locale TEXT,
    PRIMARY KEY (tenant, user_id)
) STRICT, WITHOUT ROWID;

-- '' stands for "no user" or "no agent", so that the three columns can be unique together.
-- `stamp` is the sequence number of the newest change of any item, `generation` grows when the
-- scope's items must be read again from the start. Records before `themed` are in their themes;
-- `themes` is the sequence number of the last change of any theme.
CREATE TABLE scopes (
    scope INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0,
    stamp INTEGER NOT NULL DEFAULT 0,
    themed INTEGER NOT NULL DEFAULT 0,
    themes INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, user_id, agent_id)
) STRICT;

-- Who has spoken in a scope, by the hash the index knows them by.
CREATE TABLE speakers (
    scope INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (scope, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    scope INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    external_id TEXT,
    session_id TEXT,
    role TEXT NOT NULL,
    name TEXT,
    content TEXT NOT NULL,
    parts TEXT,
    occurred_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    hidden_at INTEGER,
    trust TEXT NOT NULL,
    tags TEXT,
    metadata TEXT,
    spans TEXT,
    batch_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    identity BLOB,
    episode INTEGER,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX messages_id ON messages (scope, id);
CREATE INDEX messages_session ON messages (scope, session_id, seq) WHERE session_id IS NOT NULL;
CREATE INDEX messages_time ON messages (scope, occurred_at, seq);
CREATE INDEX messages_batch ON messages (scope, batch_id);
CREATE INDEX messages_episode ON messages (scope, episode, seq) WHERE episode IS NOT NULL;
CREATE UNIQUE INDEX messages_identity ON messages (scope, identity)
    WHERE identity IS NOT NULL AND hidden_at IS NULL;

-- Contiguous messages about one thing, which name it by its `seq`; an open one may still grow.
CREATE TABLE episodes (
    scope INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT,
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
    people TEXT,
    topics TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    batch_id TEXT NOT NULL,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX episodes_id ON episodes (scope, id);
CREATE INDEX episodes_time ON episodes (scope, started_at, seq);
CREATE INDEX episodes_open ON episodes (scope, session_id) WHERE is_open;

-- A record is the rows of its versions; the open one has no `closed_at`.
CREATE TABLE records (
    scope INTEGER NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    fields TEXT NOT NULL,
    subject TEXT GENERATED ALWAYS AS (json_extract(fields, '$.subject')) VIRTUAL,
    attribute TEXT GENERATED ALWAYS AS (json_extract(fields, '$.attribute')) VIRTUAL,
    tags TEXT,
    metadata TEXT,
    path TEXT,
    occurred_at INTEGER,
    ended_at INTEGER,
    recorded_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    closed_at INTEGER,
    valid_from INTEGER,
    valid_to INTEGER,
    retired_at INTEGER,
    expires_at INTEGER,
    confidence REAL NOT NULL,
    trust TEXT NOT NULL,
    sensitivity TEXT NOT NULL,
    lifecycle TEXT NOT NULL,
    supersedes TEXT,
    superseded_by TEXT,
    fingerprint TEXT NOT NULL,
    batch_id TEXT NOT NULL,
    PRIMARY KEY (scope, id, version)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX records_seq ON records (scope, seq);
CREATE UNIQUE INDEX records_open ON records (scope, id) WHERE closed_at IS NULL;
CREATE INDEX records_created ON records (scope, created_at, id) WHERE closed_at IS NULL;
CREATE INDEX records_fingerprint ON records (scope, fingerprint) WHERE closed_at IS NULL;
CREATE INDEX records_subject ON records (scope, subject, attribute) WHERE closed_at IS NULL;
CREATE INDEX records_batch ON records (scope, batch_id);
CREATE INDEX records_ended ON records (scope, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX records_begun ON records (scope, supersedes) WHERE supersedes IS NOT NULL;

CREATE TABLE evidence (
    scope INTEGER NOT NULL,
    record_id TEXT NOT NULL,
    source_id TEXT NOT NULL,
    quote TEXT,
    added_at INTEGER NOT NULL,
    removed_at INTEGER,
    batch_id TEXT NOT NULL,
    PRIMARY KEY (scope, record_id, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX evidence_source ON evidence (scope, source_id);

-- What can be found: one row per message, episode, record version, entity, or passage of a long
-- one. `owner` is the `seq` of what it belongs to, `[start, stop)` the characters of a passage.
-- `header` and `terms` are the fixed layouts of store/scope_index.py; `stamp` grows with each
-- change of the row, so that readers load only what moved; `model` is 0 until it has a vector.
CREATE TABLE items (
    scope INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    model INTEGER NOT NULL DEFAULT 0,
    header BLOB NOT NULL,
    terms BLOB NOT NULL,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX items_stamp ON items (scope, stamp);
CREATE INDEX items_owner ON items (scope, owner);
CREATE INDEX items_without_vector ON items (scope, seq) WHERE model = 0;

CREATE TABLE vectors (
    scope INTEGER NOT NULL,
    model INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (scope, model, seq)
) STRICT, WITHOUT ROWID;

-- People, places, organisations, products, named things; `seq` is its item in the index.
CREATE TABLE entities (
    scope INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX entities_id ON entities (scope, id);

-- The spellings of an entity by normal form, each as it was first written. `given` is the first
-- word of a person's full name, by which the person may be called as long as no other is.
CREATE TABLE entity_names (
    scope INTEGER NOT NULL,
    normal TEXT NOT NULL,
    entity INTEGER NOT NULL,
    written TEXT NOT NULL,
    given INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, normal, entity)
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_names_entity ON entity_names (scope, entity);

-- Which message or record version (its `seq`) mentions which entity.
CREATE TABLE mentions (
    scope INTEGER NOT NULL,
    entity INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    PRIMARY KEY (scope, entity, owner)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_owner ON mentions (scope, owner);

-- Groups of related records (level 0), and groups of those (level 1). All of it can be made anew
-- from the records: `sum` is that of the members' unit vectors, float32, `topics` what the name was
-- chosen from. `seq` is its item in the index, where it is of level 0. `named` is null where rules
-- gave the name, else the members by which a model did: per member, eight bytes of a hash of its id
-- and the number of its version.
CREATE TABLE themes (
    scope INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    level INTEGER NOT NULL,
    parent INTEGER,
    name TEXT NOT NULL,
    summary TEXT NOT NULL,
    topics TEXT NOT NULL,
    size INTEGER NOT NULL,
    sum BLOB NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    named BLOB,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX themes_id ON themes (scope, id);
CREATE INDEX themes_name ON themes (scope, name);
CREATE INDEX themes_parent ON themes (scope, parent) WHERE parent IS NOT NULL;

-- Which theme a record is in; `seq` is the version whose vector counts in the sum, `moves` how
-- often it has changed its theme.
CREATE TABLE theme_members (
    scope INTEGER NOT NULL,
    record_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    theme INTEGER NOT NULL,
    moves INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX theme_members_theme ON theme_members (scope, theme);

-- Pairs of records, by id in order, that a consolidation has judged, as what and in which versions;
-- while these say what they said then, no model judges them again.
CREATE TABLE judged (
    scope INTEGER NOT NULL,
    one TEXT NOT NULL,
    other TEXT NOT NULL,
    one_version INTEGER NOT NULL,
    other_version INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    batch_id TEXT NOT NULL,
    PRIMARY KEY (scope, one, other, batch_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX judged_other ON judged (scope, other);

-- One row per call that writes. A batch is leased by one process at a time. `brought` is how many
-- messages it stored that nobody has had erased since, null where a dump brought it.
CREATE TABLE batches (
    scope INTEGER NOT NULL,
    id TEXT NOT NULL,
    verb TEXT NOT NULL,
    actor TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    request TEXT,
    distilled INTEGER NOT NULL DEFAULT 0,
    brought INTEGER,
    digest BLOB,
    idempotency_key TEXT,
    lease_owner TEXT,
    lease_until INTEGER,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX batches_open ON batches (scope, id) WHERE state IN ('pending', 'running');
CREATE INDEX batches_failed ON batches (scope, id) WHERE state = 'failed';
CREATE INDEX batches_digest ON batches (scope, digest) WHERE digest IS NOT NULL;
CREATE UNIQUE INDEX batches_key ON batches (scope, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- What models have cost: by the batch that wrote, '' for reading. Model '' is the work itself: calls
-- of a local embedder, and milliseconds in all. `cost` is in thousand millionths of a US dollar, null
-- where one of the prices is not known.
CREATE TABLE spending (
    scope INTEGER NOT NULL,
    batch_id TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    milliseconds REAL NOT NULL,
    cost INTEGER,
    PRIMARY KEY (scope, batch_id, model)
) STRICT, WITHOUT ROWID;

-- Who did what to what, and why. What it was before and after is in the versions, not here.
CREATE TABLE changes (
    scope INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    batch_id TEXT NOT NULL,
    op TEXT NOT NULL,
    target_id TEXT NOT NULL,
    version_before INTEGER,
    version_after INTEGER,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    evidence TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (scope, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX changes_id ON changes (scope, id);
CREATE INDEX changes_target ON changes (scope, target_id, seq);
CREATE INDEX changes_batch ON changes (scope, batch_id, seq);

-- What the vault sealed: nonce, ciphertext and tag of AES-256-GCM. `key_id` tells the key apart
-- from others and says nothing about it; `record_id` is the vault entry that shows its caption.
CREATE TABLE secrets (
    scope INTEGER NOT NULL,
    record_id TEXT NOT NULL,
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    sealed_at INTEGER NOT NULL,
    PRIMARY KEY (scope, record_id)
) STRICT, WITHOUT ROWID;

-- Hashes, keyed with the vault's own sealed key, by which a secret that comes again is known:
-- `state` says that it is sealed, was replaced by another one, or was released as no secret.
CREATE TABLE secret_marks (
    scope INTEGER NOT NULL,
    mark BLOB NOT NULL,
    record_id TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'sealed',
    PRIMARY KEY (scope, mark)
) STRICT, WITHOUT ROWID;
CREATE INDEX secret_marks_record ON secret_marks (scope, record_id);

-- One row once anything was sealed: the key of the marks, itself sealed.
CREATE TABLE vault (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL
) STRICT;

-- What was erased, as hashes keyed with `salt`, so that a replay or an import does not teach it
-- again. `what` is the kind of thing hashed: an id, a message's identity, a batch's digest or key
-- (`ref` is that batch), the fingerprint of a record that was named itself, or a turn of the
-- session with hash `session` at `place` in it (`ref`: the marks of its id and identity).
CREATE TABLE tombstones (
    scope INTEGER NOT NULL,
    salt BLOB NOT NULL,
    what TEXT NOT NULL,
    mark BLOB NOT NULL,
    place INTEGER NOT NULL DEFAULT 0,
    session BLOB,
    ref TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (scope, salt, what, mark, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_session ON tombstones (scope, session, place) WHERE session IS NOT NULL;

-- Who did what with what is protected, and why; never what it says.
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target_id TEXT,
    reason TEXT NOT NULL,
    detail TEXT
) STRICT;
CREATE INDEX audit_tenant ON audit (tenant, seq);
CREATE INDEX audit_target ON audit (tenant, target_id) WHERE target_id IS NOT NULL;

-- Keys to the service, kept for good, revoked or not: a store that ever had one is closed to those
-- who have none. `id` is the part of a key that may be shown; of the rest only the SHA-256 is here,
-- which is enough as that is 256 random bits, and nothing that could be guessed. '' in `user_id` or
-- `agent_id`: not bound to one.
CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    hash BLOB NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    permissions TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_tenant ON api_keys (tenant, created_at, id);
CREATE UNIQUE INDEX api_keys_name ON api_keys (tenant, name) WHERE revoked_at IS NULL;
