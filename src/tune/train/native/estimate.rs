//! How much memory a training takes, before it takes it. Pure.

use super::super::TrainError;
use super::arch::Arch;
use super::lora::Kind;
use super::model::HEAD_ROWS;

/// What decides about memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size<'a> {
    pub(super) arch: &'a Arch,
    /// Numbers of the base model.
    pub(super) base: u64,
    /// Numbers that are trained.
    pub(super) trained: u64,
    /// Trained matrices' ranks in a layer, summed over matrices.
    pub(super) ranks: usize,
    /// Tokens of the longest conversation.
    pub(super) longest: usize,
}

/// What is settled before anything is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Bytes at the peak.
    pub(super) bytes: u64,
    /// Layers' activations are computed twice.
    pub(super) checkpointing: bool,
}

/// What the program, the vocabulary and allocators take beside it.
const FIXED: u64 = 160 << 20;

impl Size<'_> {
    /// Bytes at the peak, about.
    pub(super) fn bytes(&self, checkpointing: bool) -> u64 {
        let arch = self.arch;
        let (d, q, kv, f) = (arch.width, arch.query_width(), arch.kv_width(), arch.inner);
        // What a layer keeps of a token for the way back, and what works on it in the meantime.
        let kept = 2 * d + 2 * q + 2 * kv + 2 * f + self.ranks;
        let at_work = 6 * d + 6 * (q + kv) + 6 * f + 2 * arch.heads * 128;
        let of_all = if checkpointing {
            arch.layers * d + kept
        } else {
            arch.layers * kept
        };
        let tokens = self.longest as u64;
        let head = 2 * HEAD_ROWS.min(self.longest) * arch.vocabulary;
        let largest = Kind::ALL
            .iter()
            .map(|kind| kind.outputs(arch) * kind.inputs(arch))
            .max()
            .unwrap_or(0);
        // Trained numbers: themselves, a gradient, two moments, and new ones in an update.
        let numbers = self.base + 5 * self.trained + tokens * (of_all + at_work) as u64 + (head + largest) as u64;
        FIXED + 4 * numbers
    }

    /// What will be done with so much memory; `None` for no bound.
    ///
    /// # Errors
    /// [`TrainError::Memory`] with what makes it smaller.
    pub(super) fn plan(&self, available: Option<u64>) -> Result<Plan, TrainError> {
        let available = available.unwrap_or(u64::MAX);
        for checkpointing in [false, true] {
            let bytes = self.bytes(checkpointing);
            if bytes <= available {
                return Ok(Plan { bytes, checkpointing });
            }
        }
        let short = Self { longest: 1, ..*self };
        let hint = if short.bytes(true) > available {
            format!(
                "the base model's weights alone take {} MiB: free memory, allow more (--memory), or take a smaller base model",
                (self.base * 4) >> 20
            )
        } else {
            format!(
                "the longest conversation has {} tokens: lower the cutoff, free memory, or allow more (--memory)",
                self.longest
            )
        };
        Err(TrainError::Memory {
            needed: self.bytes(true),
            available,
            hint,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::tune::train::native::tests::header;

    #[test]
    fn memory_decides_what_is_done() {
        let arch = Arch {
            layers: 30,
            width: 576,
            heads: 9,
            kv_heads: 3,
            head_width: 64,
            inner: 1536,
            vocabulary: 49152,
            ..Arch::read(Path::new("m"), &header("llama")).unwrap()
        };
        let size = Size {
            arch: &arch,
            base: 134_515_008,
            trained: 921_600,
            ranks: 32,
            longest: 512,
        };
        let (much, little) = (size.bytes(false), size.bytes(true));
        assert!(much > little && little > 540 << 20);
        let plan = |available| size.plan(available).unwrap();
        assert!(!plan(None).checkpointing && !plan(Some(much)).checkpointing);
        assert!(plan(Some(much - 1)).checkpointing);
        assert_eq!(plan(Some(little)).bytes, little);
        let refused = |available| size.plan(Some(available)).unwrap_err().to_string();
        assert!(refused(little - 1).contains("512 tokens"), "{}", refused(little - 1));
        assert!(refused(1 << 20).contains("smaller base model"), "{}", refused(1 << 20));
        // A model without a bound on numbers does not overflow.
        let huge = Size {
            longest: 1 << 20,
            ..size
        };
        assert!(huge.plan(Some(1 << 30)).is_err());
    }
}
