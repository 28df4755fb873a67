//! The player reads real observations (recorded from BALROG's wrappers, blanks at line ends cut) and answers as it should.

use super::screen::{Asked, Ground, Screen};
use super::*;
use crate::types::ChatRole;

const ROOM: &str = "\
message:
Hello Agent, welcome to NetHack!  You are a neutral female human Barbarian.

language observation:
dark area far west
vertical closed door near eastnortheast
vertical wall near east
doorway near west
gold piece near westnorthwest
horizontal wall very near north, northeast, southeast, south, southwest, and northwest
tame little dog adjacent northwest

cursor:
Yourself a barbarian
(x=47, y=18)

map:















                                          ---------
                                          |$..d...+
                                          .....@..|
                                          |.......|
                                          ---------

Agent the Plunderess           St:18/03 Dx:16 Co:16 In:7 Wi:8 Ch:6 Neutral S:0
Dlvl:1 $:0 HP:16(16) Pw:2(2) AC:7 Xp:1/0 T:1


inventory:
a: a +0 two-handed sword (weapon in hands)
b: a +0 axe (alternate weapon; not wielded)
c: an uncursed +0 ring mail (being worn)
d: an uncursed food ration
";

const RATS: &str = "\
message:
The giant rat bites!

language observation:
horizontal wall near south
vertical wall very near east, southeast, southwest, and west
stairs up adjacent southeast
giant rat adjacent east
newt statue adjacent west

cursor:
Yourself a knight
(x=24, y=11)

map:









                       ---
                      |:@r|
                      |..<.
                      |...|
                       ---







Agent the Gallant              St:15 Dx:9 Co:11 In:7 Wi:16 Ch:17 Lawful S:0
Dlvl:1 $:0 HP:14(16) Pw:3(3) AC:3 Xp:1/0


inventory:
a: a +1 long sword (weapon in hand)
g: 13 uncursed apples
";

const SYSTEM: &str = "You play.\n\n# Actions\nnorth, east, south, west, northeast, southeast, southwest, northwest, open, kick, search\n";

fn user(phase: &str, previous: &str, observation: &str) -> Message {
    let text = format!(
        "PHASE: {phase}\nSTEP: 3\nPREVIOUS ACTION: {previous}\n\nWHAT THE WORLD SHOWS NOW:\n{observation}\n\nMEMORY FILES:\n\
         - events.txt (0 lines)\n"
    );
    Message::new(ChatRole::User, text)
}

/// What the player does when it has no notes.
fn played(system: &str, observation: &str) -> String {
    let said = answer(&[Message::new(ChatRole::System, system), user("PLAN", "", observation)]);
    let (_, action) = said.split_once("<|ACTION|>").expect("an action");
    action.split("<|END|>").next().unwrap().to_owned()
}

fn asking(question: &str, column: u32) -> String {
    ROOM.replace(
        "Hello Agent, welcome to NetHack!  You are a neutral female human Barbarian.",
        question,
    )
    .replace("Yourself a barbarian\n(x=47, y=18)", &format!("\n(x={column}, y=0)"))
}

#[test]
fn a_screen_is_read() {
    let screen = Screen::read(ROOM).unwrap();
    assert_eq!(screen.cursor, Some((47, 18)));
    let status = screen.status.unwrap();
    assert_eq!(
        (status.level, status.hp, status.most, status.turn, status.hunger),
        (1, 16, 16, 1, 0)
    );
    assert_eq!(screen.asked, None);
    assert_eq!(screen.ground((50, 17)), Ground::ClosedDoor);
    assert_eq!(screen.ground((42, 18)), Ground::Floor);
    assert_eq!(screen.ground((50, 18)), Ground::Solid);
    assert_eq!(screen.ground((41, 18)), Ground::Unseen);
    assert!(screen.creature((46, 17)) && !screen.creature((43, 17)));
    assert_eq!(screen.beside("northwest"), Some("tame little dog"));
    assert_eq!(screen.carried().last(), Some(('d', "an uncursed food ration")));
    let open = ROOM.replace("|$..d...+", "|$..d...-");
    assert_eq!(Screen::read(&open).unwrap().ground((50, 17)), Ground::OpenDoor);
    let near = open.replace("vertical wall near east", "horizontal open door very near east");
    assert_eq!(Screen::read(&near).unwrap().ground((49, 18)), Ground::Floor);
    let told = near.replace(".....@..|", ".....@.||");
    assert_eq!(Screen::read(&told).unwrap().ground((49, 18)), Ground::OpenDoor);
    assert_eq!(Screen::read(&told).unwrap().ground((50, 18)), Ground::Solid);
    assert_eq!(Screen::read(RATS).unwrap().status.unwrap().turn, 0);
}

#[test]
fn questions_are_told_apart_and_answered() {
    let asked = |text: &str| Screen::read(text).unwrap().asked;
    assert_eq!(asked(&asking("In what direction?", 19)), Some(Asked::Direction));
    assert_eq!(asked(&asking("It goes on.--More--", 19)), Some(Asked::More));
    let eat = asking("What do you want to eat? [d or ?*]", 35);
    assert_eq!(asked(&eat), Some(Asked::Question));
    assert_eq!(
        Screen::read(&asking("Which? [ac-e or ?*]", 9)).unwrap().offered(),
        ['a', 'c', 'd', 'e']
    );
    let menu = ROOM.replace(
        "                                          |.......|",
        "    a - an axe\n    (end)",
    );
    assert_eq!(asked(&menu), Some(Asked::Menu));
    assert_eq!(played("You play.", &eat), "d");
    assert_eq!(played("You play.", &menu), "esc");
    assert_eq!(
        played("You play.", &asking("Are you sure you want to pray? [yn] (n)", 40)),
        "y"
    );
    assert_eq!(played("You play.", &asking("Really attack the gnome?", 24)), "esc");
    assert_eq!(played("You play.", &asking("It goes on.--More--", 19)), "more");
}

#[test]
fn it_walks_to_what_is_not_seen_yet() {
    // The door is three steps away, the doorway in the west five.
    assert!(["northeast", "southwest", "west"].contains(&played("You play.", ROOM).as_str()));
    let last = ROOM.replace("|$..d...+", "|$..d...|");
    assert!(played("You play.", &last).contains("west"));
}

#[test]
fn it_fights_what_is_hostile_and_no_statue() {
    assert_eq!(played(SYSTEM, RATS), "east");
    let alone = RATS.replace("|:@r|", "|:@.|").replace("giant rat adjacent east\n", "");
    assert!(played(SYSTEM, &alone).ends_with("east"), "the way out is in the east");
}

#[test]
fn it_prays_and_eats_when_it_must() {
    let late = ROOM.replace("T:1\n", "T:400\n");
    assert_eq!(played("You play.", &late.replace("HP:16(16)", "HP:2(16)")), "pray");
    assert_ne!(
        played("You play.", &ROOM.replace("HP:16(16)", "HP:2(16)")),
        "pray",
        "it is too early"
    );
    assert_eq!(played("You play.", &late.replace("T:400", "T:400 Hungry")), "eat");
    assert_ne!(
        played(SYSTEM, &late.replace("HP:16(16)", "HP:2(16)")),
        "pray",
        "there is no such action"
    );
}

#[test]
fn the_log_keeps_what_was_walked_and_what_did_not_work() {
    let said = |previous: &str, message: &str, results: &str| {
        let observation = ROOM.replace(
            "Hello Agent, welcome to NetHack!  You are a neutral female human Barbarian.",
            message,
        );
        let opening = user("LOG", previous, &observation).content + "- walked.txt (1 line)\n- tries.txt (1 line)\n";
        let mut chat = vec![
            Message::new(ChatRole::System, "You play."),
            Message::new(ChatRole::User, opening),
        ];
        let asked = answer(&chat);
        assert!(asked.contains("<|SEARCH|>walked.txt|Dlvl 1 row<|END|>") && asked.contains("<|READ|>tries.txt<|END|>"));
        chat.push(Message::new(ChatRole::Assistant, asked));
        chat.push(Message::new(ChatRole::User, format!("RESULTS\n{results}")));
        answer(&chat)
    };
    let before = "SEARCH walked.txt: ok\n1: Dlvl 1 row 18: 45-46\nREAD tries.txt: ok\nlast Dlvl 1 46,18 still 0\n";
    let moved = said("east", "", before);
    assert!(moved.contains("Dlvl 1 row 18: 45-47\n"), "{moved}");
    assert!(moved.contains("last Dlvl 1 47,18 still 0"), "{moved}");
    assert!(moved.ends_with("<|DONE|>"));
    let here = "READ tries.txt: ok\nlast Dlvl 1 47,18 still 0\nDlvl 1 46,17 searched 3\n";
    let wall = said("north", "It's a wall.", here);
    assert!(
        wall.contains("Dlvl 1 47,18 no way north") && wall.contains("46,17 searched 3"),
        "{wall}"
    );
    let locked = said("east", "This door is locked.", here);
    assert!(locked.contains("Dlvl 1 48,18 locked, kicked 0"), "{locked}");
    let kicking = here.replace("still 0", "still 0, kicking");
    let kicked = said("east", "WHAMM!!", &format!("{kicking}Dlvl 1 48,18 locked, kicked 2\n"));
    assert!(kicked.contains("Dlvl 1 48,18 locked, kicked 3"), "{kicked}");
}

#[test]
fn whom_the_game_warns_of_is_left_alone() {
    let question = RATS
        .replace("The giant rat bites!", "Really attack the priest of Anshar? [yn] (n)")
        .replace("Yourself a knight\n(x=24, y=11)", "\n(x=45, y=0)")
        .replace("giant rat adjacent", "aligned priest adjacent");
    let opening = user("LOG", "east", &question).content + "- tries.txt (1 line)\n";
    let results = "RESULTS\nREAD tries.txt: ok\nlast Dlvl 1 24,11 still 0\n";
    let chat = |opening: String, results: String| {
        answer(&[
            Message::new(ChatRole::System, SYSTEM),
            Message::new(ChatRole::User, opening),
            Message::new(ChatRole::User, results),
        ])
    };
    let noted = chat(opening, results.to_owned());
    assert!(
        noted.contains("\npeaceful aligned priest\n") && noted.contains("\npeaceful priest of Anshar\n"),
        "{noted}"
    );
    let after = RATS.replace("giant rat adjacent", "aligned priest adjacent");
    let opening = user("PLAN", "esc", &after).content + "- tries.txt (1 line)\n";
    let goes_on = chat(opening, format!("{results}peaceful aligned priest\n"));
    assert!(!goes_on.contains("<|ACTION|>east<|END|>"), "{goes_on}");
}

#[test]
fn broken_texts_are_survived() {
    for cut in (0..ROOM.len()).step_by(7) {
        let text = &ROOM[..cut];
        let said = answer(&[Message::new(ChatRole::System, "You play."), user("PLAN", "north", text)]);
        assert!(said.contains("<|ACTION|>"), "{said}");
        let said = answer(&[Message::new(ChatRole::System, "You play."), user("LOG", "north", text)]);
        assert!(said.ends_with("<|DONE|>"), "{said}");
    }
    assert!(answer(&[]).contains("<|ACTION|>"));
}
