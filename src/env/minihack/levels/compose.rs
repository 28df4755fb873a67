//! Des-files composed here: the same bytes as MiniHack's level generator writes, because the game's
//! random numbers depend on every command of a level and on their order.
//!
//! Owns the texts' form. Must not read files.

use std::fmt::Write as _;

use super::boxoban::Puzzle;

/// A level with a map in the middle of solid stone. The lit region is one cell wider and higher than the
/// map, as in the original.
fn sheet(flags: &str, rows: &[String], lit: bool, commands: &str) -> String {
    let width = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
    let height = rows.len();
    let light = if lit { "lit" } else { "unlit" };
    let mut map = String::new();
    for row in rows {
        map.push_str(row);
        map.push('\n');
    }
    format!(
        "\nMAZE: \"mylevel\", ' '\nFLAGS:{flags}\nINIT_MAP: solidfill,' '\nGEOMETRY:center,center\n\
         MAP\n{map}ENDMAP\nREGION:(0,0,{width},{height}),{light},\"ordinary\"\n{commands}"
    )
}

/// A square maze of `side` cells, walled in, with the stairs down anywhere in it.
pub(super) fn maze(side: usize) -> String {
    let outer = side + 2;
    let (edge, inner, middle) = (outer - 1, outer - 2, outer / 2);
    let commands = format!(
        "TERRAIN:rect (0,0,{edge},{edge}),'-'\nTERRAIN:fillrect (1,1,{inner},{inner}),' '\n\
         MAZEWALK:({middle},{middle}),east\nSTAIR:random,down\n"
    );
    sheet("hardfloor", &vec![".".repeat(outer); outer], true, &commands)
}

/// A small room, a corridor and a long room with six giant rats before the stairs, all dark.
pub(super) fn dark_battle() -> String {
    let gap = " ".repeat(7);
    let end = format!("{}{gap}{}", "-".repeat(5), "-".repeat(22));
    let side = format!("|...|{gap}|{}|", ".".repeat(20));
    let middle = format!("|....{}{}|", "#".repeat(7), ".".repeat(21));
    let mut commands = String::from("BRANCH:(1,1,3,3),(0,0,0,0)\n");
    for column in [30, 31] {
        for row in 1..=3 {
            // Writing into a text cannot fail.
            let _ = writeln!(commands, "MONSTER:\"giant rat\",({column}, {row})");
        }
    }
    commands.push_str("STAIR:(32, 2),down\n");
    let rows = [end.clone(), side.clone(), middle, side, end];
    sheet("hardfloor", &rows, false, &commands)
}

/// A Boxoban puzzle: walls become iron bars, boxes boulders, goals fountains.
pub(super) fn boxoban(puzzle: &Puzzle) -> String {
    let rows: Vec<String> = puzzle
        .rows
        .iter()
        .map(|row| row.chars().map(|c| if c == '#' { 'F' } else { '.' }).collect())
        .collect();
    let mut commands = String::new();
    // Writing into a text cannot fail.
    for (column, row) in puzzle.cells('$') {
        let _ = writeln!(commands, "OBJECT: \"boulder\", ({column}, {row})");
    }
    for (column, row) in puzzle.cells('.') {
        let _ = writeln!(commands, "FOUNTAIN: ({column}, {row})");
    }
    for (x, y) in puzzle.cells('@') {
        // Any cell but the start: the second area is the one a start must avoid.
        let (ax, ay) = (x.abs_diff(1), y.abs_diff(1));
        let _ = writeln!(commands, "BRANCH:({x},{y},{x},{y}),({ax},{ay},{ax},{ay})");
    }
    sheet("noteleport,premapped", &rows, true, &commands)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    fn sha256(text: &str) -> String {
        Sha256::digest(text.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The digests are of what MiniHack's generator (0.1.6 and 1.0.2 alike) returns.
    #[test]
    fn composed_levels_are_the_bytes_minihack_writes() {
        assert_eq!(
            sha256(&maze(9)),
            "dce5320b7e3fc857270b3762121bb76309d283f020170c15acb6c0d8adda5a55"
        );
        assert_eq!(
            sha256(&maze(15)),
            "afdd1684caa8cf8587164b286f36cfa78f322df309ff3da5630ffb9b433b84e7"
        );
        assert_eq!(
            sha256(&dark_battle()),
            "53f9b1499445f0bb52ec5b6a966262e0b324f5e0565d75589dd35fac20dcb103"
        );
        let first_of_hard = "##########\n######## #\n#######  #\n#######$ #\n#######  #\n######. .#\n\
                             ###### $.#\n#####  #$#\n#####. $@#\n##########\n";
        let puzzle = Puzzle::read(first_of_hard.lines()).unwrap();
        assert_eq!(
            sha256(&boxoban(&puzzle)),
            "91a37c9a8e0401987f0fdde04f9f9e45ebbddba6c0ab315bbbc250e18959c0e6"
        );
    }
}
