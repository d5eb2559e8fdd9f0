"""Word lists of the English rules, as alternations for patterns."""

from __future__ import annotations

__all__ = [
    "CONDITIONS",
    "DIETS",
    "INSTRUMENTS_AND_GAMES",
    "LANGUAGES",
    "LASTING_WISHES",
    "OCCUPATIONS",
    "PETS",
    "POSSESSIONS",
    "PRACTICES",
    "word_set",
]


def word_set(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


def _any(words: str) -> str:
    """An alternation, longest first; `_` stands for a space."""
    listed = [word.replace("_", "[ -]?") for word in words.split()]
    return "|".join(sorted(listed, key=len, reverse=True))


OCCUPATIONS = _any(
    """
    nurse doctor teacher professor lecturer tutor engineer developer programmer designer architect
    accountant lawyer attorney solicitor paralegal judge chef cook baker barista waiter waitress
    bartender manager director producer editor writer author journalist reporter photographer
    artist painter sculptor musician singer composer actor actress dancer choreographer
    psychologist psychiatrist therapist counselor counsellor social_worker pharmacist dentist
    surgeon paramedic vet veterinarian physiotherapist physicist chemist biologist geologist
    scientist researcher analyst consultant economist statistician mathematician historian
    librarian archivist curator translator interpreter pilot flight_attendant driver courier
    mechanic electrician plumber carpenter welder builder roofer farmer gardener florist fisherman
    police_officer firefighter soldier officer guard detective clerk cashier salesperson
    sales_rep receptionist secretary assistant administrator recruiter marketer accountant_manager
    entrepreneur founder freelancer contractor realtor real_estate_agent banker broker trader
    hairdresser barber beautician tailor seamstress jeweller potter blacksmith butcher brewer
    coach trainer instructor referee athlete footballer nanny midwife caregiver carer optician
    technician technologist operator inspector surveyor planner coordinator supervisor strategist
    illustrator animator copywriter blogger streamer youtuber librettist luthier conductor
    postdoc intern apprentice principal dean headteacher beekeeper sailor captain ranger
    """
)
PETS = _any(
    "dog cat puppy kitten parrot hamster rabbit bunny horse "
    "pony turtle tortoise goldfish fish snake lizard "
    "gecko ferret budgie canary cockatiel guinea_pig hedgehog chicken goat puppies kittie labrador "
    "retriever golden_retriever poodle corgi beagle husky shepherd "
    "german_shepherd terrier dachshund bulldog collie tabby "
    "bird"
)
POSSESSIONS = _any(
    "car bike bicycle motorbike motorcycle van truck boat house "
    "apartment flat condo cabin cottage garden "
    "piano guitar violin cello drum_kit camera telescope laptop "
    "computer tablet phone console printer "
    "3d_printer sewing_machine tattoo allotment greenhouse balcony "
    "scooter kayak surfboard sailboat farm ukulele smartwatch"
)
CONDITIONS = _any(
    "asthma diabetes adhd ADHD anxiety depression arthritis "
    "migraines? celiac_disease coeliac_disease "
    "eczema epilepsy insomnia ibs IBS ptsd PTSD ocd OCD high_blood_pressure "
    "blood_pressure hypertension hay_fever "
    "tinnitus anemia anaemia scoliosis psoriasis sciatica gout "
    "cancer lupus fibromyalgia back_pain vertigo "
    "dyslexia autism endometriosis pcos PCOS acid_reflux heart_condition "
    "sleep_apnea bad_knee bad_back allergies"
)
DIETS = _any("vegetarian vegan pescatarian pescetarian flexitarian gluten_free dairy_free teetotal")
LANGUAGES = _any(
    "English Spanish French German Italian Portuguese Dutch "
    "Swedish Norwegian Danish Finnish Icelandic "
    "Polish Czech Slovak Hungarian Romanian Bulgarian Greek "
    "Turkish Russian Ukrainian Arabic Hebrew "
    "Persian Farsi Hindi Urdu Bengali Tamil Telugu Punjabi Mandarin "
    "Cantonese Chinese Japanese Korean "
    "Vietnamese Thai Malay Indonesian Tagalog Swahili Zulu Catalan "
    "Basque Galician Welsh Irish Gaelic "
    "Croatian Serbian Slovenian Estonian Latvian Lithuanian "
    "Esperanto Latin ASL sign_language Mandarin_Chinese"
)
INSTRUMENTS_AND_GAMES = _any(
    "piano guitar acoustic_guitar electric_guitar bass bass_guitar "
    "violin viola cello double_bass flute clarinet oboe saxophone "
    "trumpet "
    "trombone tuba drums harp ukulele banjo mandolin accordion "
    "harmonica keyboard organ recorder erhu guzheng pipa "
    "tennis table_tennis ping_pong badminton squash football "
    "soccer basketball baseball softball volleyball "
    "hockey ice_hockey rugby cricket golf handball lacrosse "
    "chess poker bridge go video_games board_games "
    "Dungeons_and_Dragons D&D darts snooker pool billiards ultimate_frisbee pickleball water_polo"
)
PRACTICES = _any(
    "yoga pilates karate judo aikido taekwondo tai_chi qigong "
    "crossfit meditation boxing kickboxing jiu_jitsu "
    "gymnastics ballet calligraphy archery fencing pottery ceramics "
    "woodworking photography volunteering ikebana origami parkour "
    "mindfulness"
)
LASTING_WISHES = _any(
    """
    learn visit travel become own live move adopt climb retire study quit publish teach volunteer
    settle_down see_the_[A-Zm] run_(?:a|my) open_(?:a|my|our|up) 
    start_(?:a|an|my|our|learning|taking)
    write_(?:a|my) get_(?:a|an|into|better_at|married|fit|back_into|in_shape) buy_(?:a|an|my|our)
    go_(?:to|back_to) lose_weight have_(?:kids|children|a) build_(?:a|my) save_(?:up|for|money)
    join_(?:a|the) work_(?:as|at|in|for|with) make_a_difference pursue master explore_[A-Z]
    be_(?:a|an) help_(?:people|others|children|kids) finish_(?:my|writing) raise_(?:a|money)
    """
)
