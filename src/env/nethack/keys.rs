//! The actions of the worlds that play NetHack, and the key that each sends.
//!
//! Owns the table. The names are BALROG's; it also lists 00 to 99, which its own code cannot play and which are left
//! out, and refuses `annotate`, `overview`, `teleport`, `travel`, `minus` and `apos`, which its prompt offers and which
//! are played here.

/// An action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::env) struct Word {
    /// Its name.
    pub(in crate::env) name: &'static str,
    /// The key it sends; 128 and more is a letter with Meta.
    pub(in crate::env) key: u8,
    /// What it means to the player.
    pub(in crate::env) meaning: &'static str,
}

const fn word(name: &'static str, key: u8, meaning: &'static str) -> Word {
    Word { name, key, meaning }
}

/// Actions with a name; letters and digits come beside them.
pub(in crate::env) const WORDS: &[Word] = &[
    word("north", 107, "move north"),
    word("east", 108, "move east"),
    word("south", 106, "move south"),
    word("west", 104, "move west"),
    word("northeast", 117, "move northeast"),
    word("southeast", 110, "move southeast"),
    word("southwest", 98, "move southwest"),
    word("northwest", 121, "move northwest"),
    word("far north", 75, "keep moving north until something interesting"),
    word("far east", 76, "keep moving east until something interesting"),
    word("far south", 74, "keep moving south until something interesting"),
    word("far west", 72, "keep moving west until something interesting"),
    word("far northeast", 85, "keep moving northeast until something interesting"),
    word("far southeast", 78, "keep moving southeast until something interesting"),
    word("far southwest", 66, "keep moving southwest until something interesting"),
    word("far northwest", 89, "keep moving northwest until something interesting"),
    word("up", 60, "climb the stairs or ladder you stand on"),
    word("down", 62, "descend the stairs or ladder you stand on"),
    word("wait", 46, "do nothing for one turn"),
    word("more", 13, "go on past a text that waits for a key"),
    word("annotate", 193, "write a note about this dungeon level"),
    word("adjust", 225, "give an item another inventory letter"),
    word("apply", 97, "use a tool, such as a pick-axe or a key"),
    word("attributes", 24, "show your attributes"),
    word("call", 67, "name a monster, an item or a kind of item"),
    word("cast", 90, "cast a spell"),
    word("chat", 227, "talk to somebody beside you"),
    word("close", 99, "close a door beside you; the direction follows"),
    word("dip", 228, "dip an item into something"),
    word("drop", 100, "drop one item"),
    word("droptype", 68, "drop several items or kinds of items"),
    word("eat", 101, "eat something"),
    word("esc", 27, "leave a menu or take back a question"),
    word("engrave", 69, "write on the floor"),
    word("enhance", 229, "advance a skill, if you may"),
    word("fire", 102, "fire what is in your quiver; the direction follows"),
    word(
        "fight",
        70,
        "attack even if nothing is seen there; the direction follows",
    ),
    word("force", 230, "force the lock of a box"),
    word("inventory", 105, "show what you carry"),
    word("inventtype", 73, "show what you carry of one kind"),
    word("invoke", 233, "use an object's special power"),
    word("jump", 234, "jump to a place"),
    word("kick", 4, "kick something; the direction follows"),
    word("look", 58, "look at what is here"),
    word("loot", 236, "open a box or bag on the floor"),
    word("monster", 237, "use a monster's special ability, when you are one"),
    word(
        "move",
        109,
        "move without picking things up or fighting; the direction follows",
    ),
    word("movefar", 77, "the same, far; the direction follows"),
    word("offer", 239, "offer a sacrifice to the gods"),
    word("open", 111, "open a door beside you; the direction follows"),
    word("overview", 15, "list what is known of the dungeon"),
    word("pay", 112, "pay your shopping bill"),
    word("pickup", 44, "pick up what is here"),
    word("pray", 240, "pray to your god for help"),
    word("puton", 80, "put on a ring, an amulet or a blindfold"),
    word("quaff", 113, "drink something"),
    word("quiver", 81, "choose what to fire"),
    word("read", 114, "read a scroll or a spellbook"),
    word("remove", 82, "take off a ring, an amulet or a blindfold"),
    word("ride", 210, "mount or leave a steed"),
    word("rub", 242, "rub a lamp or a stone"),
    word("rush", 103, "move until something interesting; the direction follows"),
    word(
        "rush2",
        71,
        "the same, past branches of a corridor; the direction follows",
    ),
    word("search", 115, "search for hidden doors and traps beside you"),
    word("seeamulet", 34, "show the amulet you wear"),
    word("seearmor", 91, "show the armour you wear"),
    word("seegold", 36, "count your gold"),
    word("seerings", 61, "show the rings you wear"),
    word("seespells", 43, "list the spells you know"),
    word("seetools", 40, "show the tools in use"),
    word(
        "seetrap",
        94,
        "tell the kind of a trap beside you; the direction follows",
    ),
    word("seeweapon", 41, "show the weapon in hand"),
    word("shell", 33, "leave for a shell (not in this game)"),
    word("sit", 243, "sit down"),
    word("swap", 120, "swap the weapon in hand with the other one"),
    word("takeoff", 84, "take off a piece of armour"),
    word("takeoffall", 65, "take off all armour"),
    word("teleport", 20, "teleport, if you can"),
    word("throw", 116, "throw something; the direction follows"),
    word("tip", 212, "empty a box or bag"),
    word("travel", 95, "walk to a place on the map"),
    word("turnundead", 244, "drive off the undead"),
    word("twoweapon", 88, "fight with two weapons, or stop it"),
    word("untrap", 245, "disarm a trap; the direction follows"),
    word("versionshort", 118, "show the game's version"),
    word("wear", 87, "put on a piece of armour"),
    word("wield", 119, "take a weapon in hand"),
    word("wipe", 247, "wipe your face"),
    word("zap", 122, "zap a wand"),
    word("minus", 45, "the key -, an answer"),
    word("space", 32, "the key space: go on past a text"),
    word("apos", 39, "the key ', an answer"),
];

/// Answers to the game's questions: each sends itself.
pub(in crate::env) const ANSWERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The key an action sends.
pub(in crate::env) fn key(name: &str) -> Option<u8> {
    if let Some(word) = WORDS.iter().find(|word| word.name == name) {
        return Some(word.key);
    }
    match name.as_bytes() {
        [byte] if byte.is_ascii_alphanumeric() => Some(*byte),
        _ => None,
    }
}

/// Names of all actions, words first.
pub(in crate::env) fn names() -> impl Iterator<Item = &'static str> {
    let answers = (0..ANSWERS.len()).map(|at| &ANSWERS[at..=at]);
    WORDS.iter().map(|word| word.name).chain(answers)
}

/// Actions with their meanings for a prompt, a line each.
pub(in crate::env) fn listed(words: impl IntoIterator<Item = Word>) -> String {
    let lines: Vec<String> = words
        .into_iter()
        .map(|word| format!("{}: {}", word.name, word.meaning))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_have_keys() {
        let all: Vec<&str> = names().collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|name| key(name).is_some()));
        assert_eq!(all.len(), WORDS.len() + 62);
    }

    #[test]
    fn keys_are_the_games() {
        for (name, wanted) in [
            ("north", b'k'),
            ("far west", b'H'),
            ("more", 13),
            ("esc", 27),
            ("kick", 4),
            ("pray", 0x80 | b'p'),
            ("overview", 15),
            ("a", b'a'),
            ("Z", b'Z'),
            ("7", b'7'),
        ] {
            assert_eq!(key(name), Some(wanted), "{name}");
        }
        for name in ["", "00", "42", "99", "North", "^", "é", "wizard wish", "^w", "quit"] {
            assert_eq!(key(name), None, "{name} was taken");
        }
    }
}
