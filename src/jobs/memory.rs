//! Memory of the machine and of this process, where the system tells.

/// Bytes that programs can still have.
pub fn available() -> Option<u64> {
    kibibytes("/proc/meminfo", "MemAvailable:")
}

/// The most bytes this process has had in memory.
pub fn peak() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM:")
}

fn kibibytes(file: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    #[test]
    fn linux_tells() {
        let (free, peak) = (super::available().unwrap(), super::peak().unwrap());
        assert!(free > 1 << 20 && peak > 1 << 20, "{free} {peak}");
    }
}
