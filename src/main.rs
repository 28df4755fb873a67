//! The `automem` program; everything it does is in the library.

use std::process::ExitCode;

// Training makes and drops activations by the megabyte; glibc asks the system for each.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The program as the child that runs a scaffold's script: it must reach nothing else.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == automem::scaffold::hooks::CHILD_ARGUMENT)
    {
        return automem::scaffold::hooks::child_main();
    }
    automem::jobs::program::this_is_the_program();
    // Before any thread: OpenMP reads its settings when llama.cpp first computes.
    #[cfg(feature = "llama")]
    automem::llm::llama::prepare_process();
    automem::cli::main()
}
