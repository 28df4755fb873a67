//! Lab: trainings, the loss of the selected one over its updates, or what it is trained with and on.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::lab::{advise, rows};
use crate::tui::lab::LabPane;
use crate::tui::state::State;
use crate::tui::theme::{Slot, Theme};
use crate::tui::trainings::{Stage, Training};
use crate::tui::widgets::{spark, text};
use crate::tune::recipe::{Schedule, TrainConfig};

/// Columns of the numbers beside the chart.
const AXIS: usize = 7;

pub(super) fn draw(state: &State, area: Rect, focused: bool, buf: &mut Buffer) -> usize {
    let all = &state.lab.trainings;
    let Some(selected) = state.lab.selected_training() else {
        let said = [
            "No adapter was trained yet: accept training data in Curate (4), then".to_owned(),
            "automem train --base MODEL.gguf --data SET.json --recipe RECIPE --out ADAPTER.gguf".to_owned(),
            "Its loss shows here while it trains, whichever process does it.".to_owned(),
        ];
        advise(state, area, buf, &said);
        return usize::from(area.height);
    };
    let most = usize::from(area.height / 3).max(1);
    let list = Rect {
        height: (all.len().min(most) as u16).min(area.height),
        ..area
    };
    let height = rows(state, LabPane::Trainings, list, focused, buf, |index, wide| {
        all.get(index)
            .map_or_else(Line::default, |one| row(one, wide, &state.theme))
    });
    let below = Rect {
        y: list.bottom(),
        height: area.height - list.height,
        ..area
    };
    if state.lab.shows_facts {
        facts(state, selected, below, buf);
    } else {
        chart(selected, below, buf, &state.theme);
    }
    height
}

fn stage_slot(stage: Stage) -> Slot {
    match stage {
        Stage::Running => Slot::Live,
        Stage::Done => Slot::Good,
        Stage::Stopped => Slot::Warn,
        Stage::Failed => Slot::Bad,
    }
}

fn row(one: &Training, wide: usize, theme: &Theme) -> Line<'static> {
    let (sign, word) = one.stage.word();
    let (at, of) = one.at;
    let style = theme.style(stage_slot(one.stage));
    let loss = one.points.last().map(|point| point.loss);
    let right = match (&one.finished, loss) {
        (Some(done), _) => {
            let held = done
                .held_out
                .map_or_else(String::new, |loss| format!(", held out {loss:.3}"));
            format!("loss {:.3}{held}  {}", done.loss, text::clean(&done.digest))
        }
        (None, Some(loss)) => format!("loss {loss:.3}"),
        (None, None) => String::new(),
    };
    let place = format!("{at}/{of}");
    let room = wide.saturating_sub(3 + 9 + 12 + text::width(&right) + 1);
    Line::from(vec![
        Span::styled(format!(" {sign} "), style),
        Span::styled(text::pad(&text::clean(&one.name), room), theme.bold(Slot::Text)),
        Span::styled(text::pad(word, 9), style),
        Span::styled(text::pad(&place, 12), theme.style(Slot::Dim)),
        Span::styled(format!("{right} "), theme.style(Slot::Reward)),
    ])
}

/// Seconds as people say them who wait for something: `40 s`, `7 min`, `2.5 h`.
fn clock(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6_000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// What is said of a training in one line.
fn in_words(one: &Training) -> String {
    let mut parts = Vec::new();
    let (at, of) = one.at;
    if of > 0 {
        parts.push(format!("update {at} of {of}, epoch {:.2}", one.epoch));
    }
    if one.speed > 0.0 {
        parts.push(format!("{:.0} tok/s", one.speed));
    }
    if let Some(left) = one.left {
        parts.push(format!("{} left", clock(left)));
    }
    if let Some(done) = &one.finished {
        parts.push(format!("took {}", clock(done.seconds)));
        if done.peak > 0 {
            parts.push(format!("peak {} MiB", text::grouped(done.peak >> 20)));
        }
    } else if let Some(planned) = one.planned.as_ref().filter(|planned| planned.memory > 0) {
        parts.push(format!("about {} MiB", text::grouped(planned.memory >> 20)));
    }
    if one.stage == Stage::Stopped && one.saved > 0 {
        parts.push(format!("goes on from update {}", one.saved));
    }
    parts.join(" · ")
}

/// The loss over updates: raw points, the smoothed line, marks of the held-out loss; below them the learning rate.
fn chart(one: &Training, area: Rect, buf: &mut Buffer, theme: &Theme) {
    let dim = theme.style(Slot::Dim);
    let said = match &one.fault {
        Some(fault) => Line::styled(
            format!(" ✗ {}", text::clean(text::head(fault, 500))),
            theme.bold(Slot::Bad),
        ),
        None => Line::styled(format!(" {}", in_words(one)), dim),
    };
    text::put_line(buf, area, 0, &said);
    if area.height < 6 || one.points.is_empty() {
        let said = text::clean(text::head(&one.line, 500)).into_owned();
        text::put_line(
            buf,
            area,
            1,
            &Line::styled(format!(" {said}"), theme.style(Slot::Faint)),
        );
        return;
    }
    let wide = usize::from(area.width).saturating_sub(AXIS + 1).max(4);
    let high = usize::from(area.height).saturating_sub(3).max(2);
    let plot = Plot::of(one, wide, high);
    for row in 0..high {
        let label = match row {
            0 => format!("{:.3}", plot.most),
            row if row + 1 == high => format!("{:.3}", plot.least),
            _ => String::new(),
        };
        let mut spans = vec![Span::styled(
            format!("{}│", text::pad_left(&label, AXIS)),
            theme.style(Slot::Faint),
        )];
        for c in plot.row(row) {
            let style = match c {
                '●' => theme.bold(Slot::Info),
                '◆' => theme.bold(Slot::Reward),
                _ => theme.style(Slot::Faint),
            };
            spans.push(Span::styled(c.to_string(), style));
        }
        text::put_line(buf, area, row as u16 + 1, &Line::from(spans));
    }
    let rates = plot.rates(one);
    let rate = one.points.last().map_or(0.0, |point| point.lr);
    let line = Line::from(vec![
        Span::styled(format!("{}│", text::pad_left("rate", AXIS)), theme.style(Slot::Faint)),
        Span::styled(spark::bars(&rates), theme.style(Slot::Dim)),
    ]);
    text::put_line(buf, area, high as u16 + 1, &line);
    let held = one
        .held_out
        .last()
        .map_or_else(String::new, |(_, loss)| format!("  held out {loss:.3}"));
    let said = format!(" ● loss, smoothed  · each update  ◆ held out{held}  rate {rate:.1e}");
    text::put_line(
        buf,
        area,
        high as u16 + 2,
        &Line::styled(said, theme.style(Slot::Faint)),
    );
}

/// A grid of signs.
struct Plot {
    least: f64,
    most: f64,
    wide: usize,
    cells: Vec<char>,
    last: u32,
}

impl Plot {
    fn of(one: &Training, wide: usize, high: usize) -> Self {
        let losses = || {
            one.points
                .iter()
                .map(|point| point.loss)
                .chain(one.held_out.iter().map(|(_, loss)| *loss))
        };
        let least = losses().fold(f64::INFINITY, f64::min);
        let most = losses().fold(f64::NEG_INFINITY, f64::max).max(least + 1e-6);
        let last = one.at.1.max(one.points.last().map_or(1, |point| point.step)).max(1);
        let mut plot = Self {
            least,
            most,
            wide,
            cells: vec![' '; wide * high],
            last,
        };
        let row = |loss: f64| {
            let share = ((most - loss) / (most - least)).clamp(0.0, 1.0);
            (share * (high - 1) as f64).round() as usize
        };
        let mut put = |step: u32, loss: f64, sign: char| {
            let (column, row) = (plot.column(step), row(loss));
            if let Some(cell) = plot.cells.get_mut(row * wide + column) {
                *cell = sign;
            }
        };
        one.points.iter().for_each(|point| put(point.step, point.loss, '·'));
        for (point, loss) in one.points.iter().zip(one.smoothed()) {
            put(point.step, loss, '●');
        }
        one.held_out.iter().for_each(|(step, loss)| put(*step, *loss, '◆'));
        plot
    }

    fn column(&self, step: u32) -> usize {
        let share = f64::from(step) / f64::from(self.last);
        ((share * (self.wide - 1) as f64).round() as usize).min(self.wide - 1)
    }

    fn row(&self, row: usize) -> impl Iterator<Item = char> + '_ {
        self.cells.iter().skip(row * self.wide).take(self.wide).copied()
    }

    /// The learning rate of each column so far, on a scale of its own; the last known one where no update falls.
    fn rates(&self, one: &Training) -> Vec<u64> {
        let end = one.points.last().map_or(0, |point| self.column(point.step));
        let mut rates = vec![0; end + 1];
        let mut points = one.points.iter().peekable();
        let mut rate = 0.0;
        for (column, slot) in rates.iter_mut().enumerate() {
            while let Some(point) = points.next_if(|point| self.column(point.step) <= column) {
                rate = point.lr;
            }
            *slot = (rate * 1e12) as u64;
        }
        rates
    }
}

/// What it is trained with and on.
fn facts(state: &State, one: &Training, area: Rect, buf: &mut Buffer) {
    let mut said = Vec::new();
    if let Some(fault) = &one.fault {
        said.push(format!("✗ {fault}"));
    }
    if let Some(job) = &one.job {
        said.extend(config(&job.config));
        said.push(format!("base {}", job.base.display()));
        let file = job.data.to_string_lossy();
        let of = state.curate.list.iter().filter(|standing| {
            let dataset = standing.dataset.as_ref();
            dataset.is_some_and(|(name, ..)| file.ends_with(name.as_str()) || name.ends_with(&*file))
        });
        let from: Vec<String> = of.map(|standing| standing.id.to_string()).collect();
        let from = match from.as_slice() {
            [] => String::new(),
            ids => format!(" (accepted in {})", ids.join(", ")),
        };
        said.push(format!("data {file}{from}"));
        said.push(format!("{:.0} % kept back to measure on", job.held_out * 100.0));
    }
    if let Some(planned) = &one.planned {
        let (examples, held_out, too_long) = planned.examples;
        said.push(format!(
            "{examples} conversations, {held_out} kept back, {too_long} too long; {} trainable numbers on {}",
            text::grouped(planned.parameters),
            planned.device
        ));
    }
    if let Some(done) = &one.finished {
        said.push(format!("adapter {} {}", done.adapter.display(), done.digest));
    }
    advise(
        state,
        area,
        buf,
        &said
            .iter()
            .map(|said| text::clean(said).into_owned())
            .collect::<Vec<_>>(),
    );
}

fn config(config: &TrainConfig) -> [String; 2] {
    let schedule = match config.schedule {
        Schedule::Cosine => "cosine",
        Schedule::Linear => "linear",
        Schedule::Constant => "constant",
    };
    [
        format!(
            "rank {}, alpha {}, dropout {}, on {}",
            config.rank,
            config.alpha,
            config.dropout,
            config.targets.modules().join(" ")
        ),
        format!(
            "rate {:.1e} {schedule}, warm-up {}, {} epochs, batch {} × {}, cutoff {} tokens, seed {}",
            config.learning_rate,
            config.warmup,
            config.epochs,
            config.batch,
            config.accumulation,
            config.cutoff,
            config.seed
        ),
    ]
}
