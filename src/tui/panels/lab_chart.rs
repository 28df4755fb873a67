//! Lab: mean progression of versions with its standard error, a row a version, on one scale.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::lab::{advise, percent, rows};
use crate::scaffold::Node;
use crate::tui::lab::LabPane;
use crate::tui::state::State;
use crate::tui::theme::Slot;
use crate::tui::widgets::text;

/// Columns of the numbers at the right.
const NUMBERS: usize = 20;

pub(super) fn draw(state: &State, area: Rect, focused: bool, buf: &mut Buffer) -> usize {
    let theme = &state.theme;
    let nodes = state.lab.charted();
    if nodes.is_empty() {
        let said = [
            "No scaffold was played to the end of an episode yet.".to_owned(),
            "automem run --env crafter --scaffold crafter-v0 --model scripted --seeds 42..51".to_owned(),
        ];
        advise(state, area, buf, &said);
        return usize::from(area.height);
    }
    let wide = usize::from(area.width);
    let names = nodes
        .iter()
        .map(|node| text::width(&node.line))
        .max()
        .unwrap_or(0)
        .clamp(6, 18);
    let label = names + 12;
    let plot = wide.saturating_sub(label + NUMBERS + 1).max(8);
    let most = top(&nodes);
    let axis = Rect { height: 1, ..area };
    text::put_line(
        buf,
        axis,
        0,
        &Line::from(vec![
            Span::raw(" ".repeat(label)),
            Span::styled(scale(most, plot), theme.style(Slot::Faint)),
        ]),
    );
    let body = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(2),
        ..area
    };
    let base = nodes.first().and_then(|node| node.mean()).map(|(mean, _)| mean);
    let height = rows(state, LabPane::Chart, body, focused, buf, |index, _| {
        let Some((node, mean)) = nodes.get(index).and_then(|node| Some((node, node.mean()?))) else {
            return Line::default();
        };
        let mark = if node.head { "*" } else { " " };
        let mut spans = vec![
            Span::styled(format!(" {mark}"), theme.bold(Slot::Accent)),
            Span::styled(text::pad(&text::clean(&node.line), names), theme.style(Slot::Text)),
            Span::styled(format!(" {} ", node.digest.short()), theme.style(Slot::Dim)),
        ];
        let bar: Vec<char> = bar(mean, base, most, plot);
        spans.extend(bar.into_iter().map(|c| {
            let style = match c {
                '●' => theme.bold(Slot::Reward),
                '┊' => theme.style(Slot::Faint),
                _ => theme.style(Slot::Info),
            };
            Span::styled(c.to_string(), style)
        }));
        let said = format!("{} n {}", percent(mean), node.progression().len());
        spans.push(Span::styled(text::pad_left(&said, NUMBERS), theme.style(Slot::Text)));
        Line::from(spans)
    });
    let foot = Rect {
        y: area.bottom().saturating_sub(1),
        height: 1,
        ..area
    };
    let said = " ● mean  ├─┤ one standard error  ┊ mean of the first  * head  (% of all goals)";
    text::put_line(buf, foot, 0, &Line::styled(said, theme.style(Slot::Faint)));
    height
}

/// The end of the scale: the next round number above everything drawn.
fn top(nodes: &[&Node]) -> f64 {
    let most = nodes
        .iter()
        .filter_map(|node| node.mean())
        .map(|(mean, error)| mean + error)
        .fold(0.0, f64::max);
    let steps = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0];
    steps.into_iter().find(|step| most <= *step).unwrap_or(1.0)
}

/// Where a value stands.
fn column(value: f64, most: f64, columns: usize) -> usize {
    let last = columns.saturating_sub(1);
    ((value / most * last as f64).round().max(0.0) as usize).min(last)
}

/// A line with five numbers and their ticks.
fn scale(most: f64, columns: usize) -> String {
    let mut line = vec![' '; columns];
    let marks = if columns >= 30 { 4 } else { 2 };
    for n in 0..=marks {
        let value = most * f64::from(n) / f64::from(marks);
        let said = format!("{:.0}", value * 100.0);
        let at = column(value, most, columns);
        let begin = at
            .saturating_sub(said.len() / 2)
            .min(columns.saturating_sub(said.len()));
        for (place, c) in line[begin..].iter_mut().zip(said.chars()) {
            *place = c;
        }
    }
    line.into_iter().collect()
}

fn bar((mean, error): (f64, f64), base: Option<f64>, most: f64, columns: usize) -> Vec<char> {
    let mut line = vec![' '; columns];
    if let Some(base) = base {
        line[column(base, most, columns)] = '┊';
    }
    let (low, high) = (column(mean - error, most, columns), column(mean + error, most, columns));
    if high > low {
        line[low..=high].fill('─');
        line[low] = '├';
        line[high] = '┤';
    }
    line[column(mean, most, columns)] = '●';
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_on_the_scale() {
        let told = |mean: (f64, f64), base| bar(mean, base, 1.0, 11).into_iter().collect::<String>();
        assert_eq!(told((0.5, 0.2), Some(0.1)), " ┊ ├─●─┤   ");
        assert_eq!(told((0.5, 0.0), None), "     ●     ");
        assert_eq!(told((1.0, 0.5), None), "     ├────●");
        assert_eq!(told((0.0, 0.3), None), "●──┤       ");
        assert_eq!(scale(1.0, 11), "0   50  100");
        assert_eq!(scale(0.2, 31), "0       5     10      15     20");
    }
}
