//! What a shared library is, read from its file before anything of it is loaded: its format, its machine, and
//! where it keeps the addresses of the functions it calls.
//!
//! Owns reading; the file is not trusted, so that every offset is checked. Must not load or change anything.

use std::ops::Range;

/// Why a file is no library for this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::env) enum ElfError {
    /// Not the format of Linux's libraries.
    #[error("the file is no ELF library (it begins with {0})")]
    NotElf(String),
    /// For another kind of processor.
    #[error("the library is for {file}, and this program runs on {here}")]
    Machine {
        /// The file's.
        file: String,
        /// This one.
        here: &'static str,
    },
    /// It ends too early or contradicts itself.
    #[error("the library's file is damaged ({0})")]
    Damaged(&'static str),
}

/// A loaded part of the file.
#[derive(Debug, Clone)]
struct Segment {
    offset: u64,
    address: u64,
    in_file: u64,
    in_memory: u64,
    writable: bool,
}

/// A library's file.
#[derive(Debug)]
pub(in crate::env) struct Elf<'a> {
    bytes: &'a [u8],
    segments: Vec<Segment>,
    /// What is read-only once the library is loaded.
    relro: Option<Range<u64>>,
    dynamic: Vec<(u64, u64)>,
    /// Offset and size of the table of dynamic symbols.
    symbols: Option<Range<u64>>,
}

const SYMBOL: usize = 24;
const RELOCATION: usize = 24;

/// The processor this program runs on: its number in ELF, its name, and its two kinds of relocations that hold the
/// address of an imported function.
const HERE: Option<(u16, &str, [u32; 2])> = if cfg!(target_arch = "x86_64") {
    Some((62, "x86-64", [6, 7]))
} else if cfg!(target_arch = "aarch64") {
    Some((183, "AArch64", [1025, 1026]))
} else {
    None
};

fn machine_name(number: u16) -> String {
    match number {
        3 => "32-bit x86".to_owned(),
        40 => "32-bit ARM".to_owned(),
        62 => "x86-64".to_owned(),
        183 => "AArch64".to_owned(),
        243 => "RISC-V".to_owned(),
        other => format!("processor number {other}"),
    }
}

fn u16_at(bytes: &[u8], at: u64) -> Option<u16> {
    let at = usize::try_from(at).ok()?;
    let part = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes([part[0], part[1]]))
}

fn u32_at(bytes: &[u8], at: u64) -> Option<u32> {
    let at = usize::try_from(at).ok()?;
    let part = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(part.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let part = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(part.try_into().ok()?))
}

impl<'a> Elf<'a> {
    /// Reads a library's file.
    ///
    /// # Errors
    /// When it is no 64-bit ELF library of this machine.
    pub(in crate::env) fn read(bytes: &'a [u8]) -> Result<Self, ElfError> {
        if !bytes.starts_with(b"\x7fELF") {
            let start: Vec<String> = bytes.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            let start = if start.is_empty() {
                "nothing".to_owned()
            } else {
                start.join(" ")
            };
            return Err(ElfError::NotElf(start));
        }
        let damaged = || ElfError::Damaged("its header is cut off");
        let machine = u16_at(bytes, 18).ok_or_else(damaged)?;
        let (number, here, _) = HERE.unwrap_or((machine, "another processor", [0, 0]));
        // Class 2 is 64-bit, data 1 is little-endian.
        if machine != number || bytes.get(4) != Some(&2) || bytes.get(5) != Some(&1) {
            return Err(ElfError::Machine {
                file: machine_name(machine),
                here,
            });
        }
        if u16_at(bytes, 16) != Some(3) {
            return Err(ElfError::Damaged("it is a program, not a shared library"));
        }
        Self::parts(bytes).ok_or(ElfError::Damaged("its tables lie outside the file"))
    }

    fn parts(bytes: &'a [u8]) -> Option<Self> {
        let mut elf = Self {
            bytes,
            segments: Vec::new(),
            relro: None,
            dynamic: Vec::new(),
            symbols: None,
        };
        let (headers, size, count) = (u64_at(bytes, 32)?, u16_at(bytes, 54)?, u16_at(bytes, 56)?);
        for index in 0..u64::from(count) {
            let at = headers.checked_add(index * u64::from(size))?;
            let (kind, flags) = (u32_at(bytes, at)?, u32_at(bytes, at.checked_add(4)?)?);
            let segment = Segment {
                offset: u64_at(bytes, at.checked_add(8)?)?,
                address: u64_at(bytes, at.checked_add(16)?)?,
                in_file: u64_at(bytes, at.checked_add(32)?)?,
                in_memory: u64_at(bytes, at.checked_add(40)?)?,
                writable: flags & 2 != 0,
            };
            let end = segment.address.checked_add(segment.in_memory)?;
            match kind {
                1 if segment.offset.checked_add(segment.in_file)? > bytes.len() as u64 => return None,
                1 => elf.segments.push(segment),
                2 => elf.read_dynamic(&segment)?,
                0x6474_e552 => elf.relro = Some(segment.address..end),
                _ => {}
            }
        }
        elf.find_symbols();
        Some(elf)
    }

    fn read_dynamic(&mut self, segment: &Segment) -> Option<()> {
        for index in 0..segment.in_file / 16 {
            let at = segment.offset.checked_add(index * 16)?;
            let (tag, value) = (u64_at(self.bytes, at)?, u64_at(self.bytes, at.checked_add(8)?)?);
            if tag == 0 {
                break;
            }
            self.dynamic.push((tag, value));
        }
        Some(())
    }

    /// The table of dynamic symbols by the section headers; without them, no symbol is found.
    fn find_symbols(&mut self) -> Option<()> {
        let (headers, size, count) = (
            u64_at(self.bytes, 40)?,
            u16_at(self.bytes, 58)?,
            u16_at(self.bytes, 60)?,
        );
        for index in 0..u64::from(count) {
            let at = headers.checked_add(index * u64::from(size))?;
            if u32_at(self.bytes, at.checked_add(4)?)? == 11 {
                let start = u64_at(self.bytes, at.checked_add(24)?)?;
                self.symbols = Some(start..start.checked_add(u64_at(self.bytes, at.checked_add(32)?)?)?);
                break;
            }
        }
        Some(())
    }

    fn dynamic(&self, tag: u64) -> Option<u64> {
        self.dynamic
            .iter()
            .find(|(found, _)| *found == tag)
            .map(|(_, value)| *value)
    }

    /// Where in the file an address of the loaded library comes from.
    fn offset(&self, address: u64) -> Option<u64> {
        self.segments
            .iter()
            .find(|part| address >= part.address && address - part.address < part.in_file)
            .map(|part| part.offset + (address - part.address))
    }

    fn name(&self, index: u32) -> Option<&'a [u8]> {
        let at = self.offset(self.dynamic(5)?.checked_add(u64::from(index))?)?;
        let rest = self.bytes.get(usize::try_from(at).ok()?..)?;
        rest.get(..rest.iter().position(|byte| *byte == 0)?)
    }

    /// Address of a function it exports, counted from where the library begins.
    pub(super) fn export(&self, name: &str) -> Option<u64> {
        let table = self.symbols.clone()?;
        table
            .step_by(SYMBOL)
            .find(|at| {
                let defined = u16_at(self.bytes, at + 6).is_some_and(|section| section != 0);
                defined && u32_at(self.bytes, *at).and_then(|index| self.name(index)) == Some(name.as_bytes())
            })
            .and_then(|at| u64_at(self.bytes, at.checked_add(8)?))
    }

    /// Where the address of an imported function is kept, counted from where the library begins; none where that
    /// place is read-only once the library is loaded.
    pub(super) fn slots(&self, name: &str) -> Vec<u64> {
        let mut found = Vec::new();
        for (table, size) in [(23, 2), (7, 8)] {
            let (Some(table), Some(size)) = (self.dynamic(table), self.dynamic(size)) else {
                continue;
            };
            let Some(start) = self.offset(table) else { continue };
            for index in 0..size / RELOCATION as u64 {
                let at = start + index * RELOCATION as u64;
                if let Some(slot) = self.slot(at, name) {
                    found.push(slot);
                }
            }
        }
        found
    }

    fn slot(&self, at: u64, name: &str) -> Option<u64> {
        let (slot, info) = (u64_at(self.bytes, at)?, u64_at(self.bytes, at.checked_add(8)?)?);
        let kinds = HERE?.2;
        if !kinds.contains(&(info as u32)) || u64_at(self.bytes, at.checked_add(16)?)? != 0 {
            return None;
        }
        let symbol = self.symbols.as_ref()?.start.checked_add((info >> 32) * SYMBOL as u64)?;
        if self.name(u32_at(self.bytes, symbol)?)? != name.as_bytes() {
            return None;
        }
        let inside = |part: &Segment| {
            part.writable && slot >= part.address && (slot - part.address).saturating_add(8) <= part.in_memory
        };
        let fixed = self.relro.as_ref().is_some_and(|relro| relro.contains(&slot));
        (!fixed && slot % 8 == 0 && self.segments.iter().any(inside)).then_some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A library's header: 64-bit, little-endian, shared, without tables.
    fn header(machine: u16) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[16] = 3;
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    }

    #[test]
    fn what_is_no_library_is_named() {
        let first = |bytes: &[u8]| Elf::read(bytes).unwrap_err().to_string();
        assert!(first(b"").contains("begins with nothing"));
        assert!(first(b"PK\x03\x04").contains("50 4b 03 04"));
        assert!(first(b"\x7fELF\x02\x01").contains("damaged"));
        let other = if cfg!(target_arch = "aarch64") { 62 } else { 183 };
        assert!(first(&header(other)).contains("and this program runs on"));
        let mut program = header(if cfg!(target_arch = "aarch64") { 183 } else { 62 });
        program[16] = 2;
        assert!(first(&program).contains("not a shared library"));
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(mut tail in proptest::collection::vec(any::<u8>(), 0..600), count in 0u16..9) {
            let mut bytes = header(62);
            bytes[32] = 64;
            bytes[40] = 100;
            bytes[54] = 56;
            bytes[56..58].copy_from_slice(&count.to_le_bytes());
            bytes[58] = 64;
            bytes[60] = 2;
            bytes.append(&mut tail);
            if let Ok(elf) = Elf::read(&bytes) {
                elf.export("nle_start");
                elf.slots("time");
            }
        }
    }
}
