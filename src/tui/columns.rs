//! Columns of the list of runs: which there are, and which fit.
//!
//! Owns names, widths and their order of importance. Must not draw.

/// A column, from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Column {
    /// When the run began.
    Began,
    /// World.
    World,
    /// Seed.
    Seed,
    /// Scaffold.
    Scaffold,
    /// Model.
    Model,
    /// Steps; of how many, while it plays.
    Steps,
    /// Score.
    Score,
    /// Tokens.
    Tokens,
    /// State; how fast, while it plays.
    State,
}

impl Column {
    /// All of them.
    pub(crate) const ALL: [Self; 9] = [
        Self::Began,
        Self::World,
        Self::Seed,
        Self::Scaffold,
        Self::Model,
        Self::Steps,
        Self::Score,
        Self::Tokens,
        Self::State,
    ];
    /// What is left out where room is short, first to last.
    const SPARE: [Self; 8] = [
        Self::World,
        Self::Tokens,
        Self::Began,
        Self::Scaffold,
        Self::Score,
        Self::Steps,
        Self::Model,
        Self::Seed,
    ];

    /// Its heading, and its name in `config.toml`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Began => "began",
            Self::World => "world",
            Self::Seed => "seed",
            Self::Scaffold => "scaffold",
            Self::Model => "model",
            Self::Steps => "steps",
            Self::Score => "score",
            Self::Tokens => "tokens",
            Self::State => "state",
        }
    }

    /// By its name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }

    /// Whether it holds numbers.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Self::Seed | Self::Steps | Self::Score | Self::Tokens)
    }

    /// Characters it takes at least; more where something plays.
    fn width(self, live: bool) -> usize {
        match self {
            Self::Began => 11,
            Self::World => 9,
            Self::Seed => 6,
            Self::Scaffold => 12,
            Self::Model => 17,
            Self::Steps => 6 + if live { 5 } else { 0 },
            Self::Score | Self::Tokens => 7,
            Self::State => 11 + if live { 6 } else { 0 },
        }
    }
}

/// The columns that show at a width, with theirs. What is chosen shows as far as it fits; nothing
/// chosen means all.
pub(crate) fn fitting(width: usize, chosen: &[Column], live: bool) -> Vec<(Column, usize)> {
    let mut shown: Vec<Column> = Column::ALL
        .into_iter()
        .filter(|column| chosen.is_empty() || chosen.contains(column))
        .collect();
    let used = |shown: &[Column]| shown.iter().map(|column| column.width(live) + 1).sum::<usize>() + 1;
    for spare in Column::SPARE {
        if used(&shown) <= width || shown.len() == 1 {
            break;
        }
        shown.retain(|column| *column != spare);
    }
    let left = width.saturating_sub(used(&shown));
    let wide: Vec<Column> = [Column::Scaffold, Column::Model]
        .into_iter()
        .filter(|column| shown.contains(column))
        .collect();
    let widths = shown.iter().map(|column| {
        let more = match wide.iter().position(|wide| wide == column) {
            Some(0) => left - left / wide.len() * (wide.len() - 1),
            Some(_) => left / wide.len(),
            None => 0,
        };
        (*column, column.width(live) + more)
    });
    widths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_every_width_and_the_state_stays() {
        for live in [false, true] {
            for width in 20..300 {
                let columns = fitting(width, &[], live);
                let used: usize = columns.iter().map(|(_, width)| width + 1).sum();
                assert!(used < width, "{width}: {columns:?}");
                assert!(columns.iter().any(|(column, _)| *column == Column::State));
            }
        }
        assert_eq!(fitting(200, &[], true).len(), Column::ALL.len());
    }

    #[test]
    fn chosen_columns_stand_in_their_order() {
        let columns = fitting(100, &[Column::State, Column::Seed], false);
        let names: Vec<_> = columns.iter().map(|(column, _)| column.name()).collect();
        assert_eq!(names, ["seed", "state"]);
        for column in Column::ALL {
            assert_eq!(Column::named(column.name()), Some(column));
        }
    }
}
