//! The order of rows of queries and keys.
//!
//! A rotation turns pairs of rows of a head. In PEFT the first half of the head's rows is followed by the second; in a
//! llama GGUF the two rows of a pair stand beside each other.

use super::super::parse::{Fault, shown};

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From PEFT to GGUF.
    In,
    /// From GGUF to PEFT.
    Out,
}

/// The rows of a matrix of that many columns in the other order; `target` is for messages.
pub(super) fn reorder(rows: &[f32], columns: usize, heads: usize, way: Way, target: &str) -> Result<Vec<f32>, Fault> {
    let count = rows.len().checked_div(columns).unwrap_or(0);
    let width = count.checked_div(heads).unwrap_or(0);
    if width == 0 || width * heads != count || !width.is_multiple_of(2) {
        return Err(Fault::new(
            format!(
                "the {count} rows of `{}` cannot be those of {heads} heads",
                shown(target)
            ),
            "give the model that the adapter was trained on",
        ));
    }
    let half = width / 2;
    let mut out = vec![0.0; rows.len()];
    for (at, row) in out.chunks_exact_mut(columns).enumerate() {
        let (head, place) = (at / width, at % width);
        let from = head * width
            + match way {
                Way::In => place % 2 * half + place / 2,
                Way::Out => place % half * 2 + place / half,
            };
        row.copy_from_slice(&rows[from * columns..(from + 1) * columns]);
    }
    Ok(out)
}
