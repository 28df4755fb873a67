//! The `automem` program; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before any thread: OpenMP reads its settings when llama.cpp first computes.
    #[cfg(feature = "llama")]
    automem::llm::llama::prepare_process();
    automem::cli::main()
}
