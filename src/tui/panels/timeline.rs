//! The timeline: marks of all steps on one row, what they count to and what the step cost below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::store::{Marks, StepMark};
use crate::tui::keymap::Kind;
use crate::tui::layout::Pane;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::watch::Watch;
use crate::tui::widgets::text;

/// A reward below 0: the record has one mark for both.
const PENALTY: Marks = Marks(1 << 14);

/// The marks of a step, with a penalty told from a reward.
fn marks_of(mark: &StepMark) -> Marks {
    let mut marks = mark.marks;
    if mark.reward < 0.0 {
        marks.0 &= !Marks::REWARD.0;
        marks.add(PENALTY);
    }
    marks
}

/// Signs in the order in which they hide each other: the first that is there shows.
const SIGNS: &[(Marks, &str, Slot, &str)] = &[
    (Marks::HUMAN, "◆", Slot::Human, "human"),
    (Marks::REWARD, "★", Slot::Reward, "reward"),
    (PENALTY, "▾", Slot::Bad, "penalty"),
    (Marks::ERROR, "✗", Slot::Invalid, "error"),
    (Marks::INVALID, "✗", Slot::Invalid, "invalid"),
    (Marks::STUCK, "≈", Slot::Stuck, "stuck"),
    (Marks::WRITE, "▴", Slot::Write, "write"),
];

pub(crate) fn draw(state: &State, watch: &Watch, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let focused = watch.focus == Pane::Timeline;
    let (line_style, name) = if focused {
        (theme.style(Slot::BorderFocus), theme.bold(Slot::BorderFocus))
    } else {
        (theme.style(Slot::Faint), theme.style(Slot::Dim))
    };
    let end = watch.end().0;
    let right = format!(" {:>4}  {} of {} ", watch.speed.word(), watch.cursor, end);
    let row = Rect { height: 1, ..area };
    let stop = text::put_right(buf, row, 0, &Line::styled(right, theme.bold(Slot::Text)));
    let left = if focused { "▐0 " } else { " 0 " };
    let start = text::put(buf, row.x, row.y, 4, left, name);
    let columns = stop.saturating_sub(start + 1);
    for (column, marks) in (0..columns).zip(buckets(&watch.marks, end, columns)) {
        let sign = SIGNS.iter().find(|(mark, ..)| marks.has(*mark));
        let (symbol, style) = match sign {
            Some((_, symbol, slot, _)) => (*symbol, theme.style(*slot)),
            None => ("─", line_style),
        };
        if let Some(cell) = buf.cell_mut((start + column, row.y)) {
            cell.set_symbol(symbol).set_style(style);
        }
    }
    if columns > 0 {
        let at = start + column_of(watch.cursor.0, end, columns);
        let style = theme.bold(Slot::Cursor).patch(theme.selected(true));
        text::put(buf, at, row.y, 1, "●", style);
    }
    if area.height > 1 {
        let below = Rect {
            y: area.y + 1,
            height: 1,
            ..area
        };
        legend(state, watch, below, buf);
    }
}

/// The column of a step.
fn column_of(step: u32, end: u32, columns: u16) -> u16 {
    let last = u64::from(columns.saturating_sub(1));
    (u64::from(step) * last / u64::from(end.max(1))).min(last) as u16
}

/// The marks of all steps that fall into each column.
fn buckets(marks: &[StepMark], end: u32, columns: u16) -> Vec<Marks> {
    let mut out = vec![Marks::default(); usize::from(columns)];
    for mark in marks {
        if let Some(bucket) = out.get_mut(usize::from(column_of(mark.step.0, end, columns))) {
            bucket.add(marks_of(mark));
        }
    }
    out
}

fn legend(state: &State, watch: &Watch, area: Rect, buf: &mut Buffer) {
    let theme = &state.theme;
    let cost = cost(watch);
    let stop = text::put_right(buf, area, 0, &Line::styled(cost, theme.style(Slot::Dim)));
    let mut counts = [0usize; SIGNS.len()];
    for mark in &watch.marks {
        for (count, (sign, ..)) in counts.iter_mut().zip(SIGNS) {
            *count += usize::from(marks_of(mark).has(*sign));
        }
    }
    let mut spans = vec![Span::raw("   ")];
    for (count, (mark, symbol, slot, word)) in counts.into_iter().zip(SIGNS) {
        if count == 0 {
            continue;
        }
        let chosen = match watch.kind {
            Kind::All => true,
            Kind::Reward => *mark == Marks::REWARD || *mark == PENALTY,
            Kind::Write => *mark == Marks::WRITE,
            Kind::Error => *mark == Marks::ERROR || *mark == Marks::INVALID,
        };
        let (sign, rest) = if chosen {
            (*slot, Slot::Dim)
        } else {
            (Slot::Faint, Slot::Faint)
        };
        spans.push(Span::styled(format!("{symbol} "), theme.style(sign)));
        spans.push(Span::styled(format!("{word} {count}   "), theme.style(rest)));
    }
    if watch.kind != Kind::All {
        let word = match watch.kind {
            Kind::Reward => "rewards",
            Kind::Write => "memory writes",
            _ => "errors",
        };
        spans.push(Span::styled(format!("[ ] stop at {word} only"), theme.style(Slot::Key)));
    }
    let left = Rect {
        width: stop.saturating_sub(area.x + 1),
        ..area
    };
    text::put_line(buf, left, 0, &Line::from(spans));
}

/// What the cursor's step cost.
fn cost(watch: &Watch) -> String {
    let Some(mark) = watch.mark(watch.cursor) else {
        return String::new();
    };
    let time = text::duration(f64::from(mark.ms));
    if mark.prompt_tokens == 0 {
        return format!("{time} ");
    }
    let share = 100.0 * f64::from(mark.cached_tokens) / f64::from(mark.prompt_tokens);
    format!(
        "{} prompt tokens ({share:.0}% cached) → {}   {time} ",
        text::grouped(u64::from(mark.prompt_tokens)),
        text::grouped(u64::from(mark.completion_tokens)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;

    #[test]
    fn a_penalty_is_no_reward() {
        let mut mark = testing::mark(3);
        assert!(marks_of(&mark).has(Marks::REWARD) && !marks_of(&mark).has(PENALTY));
        mark.reward = -0.1;
        assert!(marks_of(&mark).has(PENALTY) && !marks_of(&mark).has(Marks::REWARD));
        let signs: Vec<&str> = SIGNS
            .iter()
            .filter(|(sign, ..)| marks_of(&mark).has(*sign))
            .map(|(_, symbol, ..)| *symbol)
            .collect();
        assert_eq!(signs, ["▾", "▴"]);
    }

    #[test]
    fn every_step_has_a_column_and_the_ends_are_the_ends() {
        assert_eq!(column_of(0, 100_000, 80), 0);
        assert_eq!(column_of(100_000, 100_000, 80), 79);
        assert_eq!(column_of(0, 0, 80), 0);
        assert_eq!(column_of(1, 2, 81), 40);
        let marks: Vec<_> = (0..100_000).map(testing::mark).collect();
        let all = buckets(&marks, 99_999, 80);
        assert_eq!(all.len(), 80);
        assert!(all.iter().all(|marks| marks.has(Marks::WRITE)));
        assert_eq!(buckets(&marks, 99_999, 0).len(), 0);
    }
}
