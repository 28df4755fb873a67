//! The worker's side of the pipe, for the worlds of this program.
//!
//! Owns the loop: a request, an answer. Must not know which world it serves.

use std::io::{self, BufRead, Read, Write};

use super::messages::{Answer, Failure, FailureKind, PROTOCOL, Request};
use crate::env::{World, WorldError};
use crate::types::{Action, WorldSpec};

/// Bytes of a request.
const REQUEST_BYTES: u64 = 64 << 10;

/// Answers requests until it is told to close, or the input ends. What is no request is answered with an error.
///
/// # Errors
/// When the pipes fail.
pub fn serve(world: &mut dyn World, input: impl BufRead, output: impl Write) -> io::Result<()> {
    let known = spec_for_the_wire(world.spec());
    each_request(input, output, |request, output| match request {
        Request::Hello { .. } => answer(
            output,
            &Answer::Hello {
                protocol: PROTOCOL,
                world: &known,
            },
        ),
        Request::Reset { seed } => shown(output, world.reset(seed)),
        Request::Step { action } => shown(output, world.step(&Action(action))),
        Request::Close => Ok(()),
    })
}

/// Answers every request with why there is no world, so that whoever asks can say it.
///
/// # Errors
/// When the pipes fail.
pub fn refuse(why: &WorldError, input: impl BufRead, output: impl Write) -> io::Result<()> {
    each_request(input, output, |_, output| fail(output, why.into()))
}

/// A worker does not say how it was started.
fn spec_for_the_wire(spec: &WorldSpec) -> WorldSpec {
    WorldSpec {
        command: None,
        ..spec.clone()
    }
}

fn each_request<W: Write>(
    mut input: impl BufRead,
    mut output: W,
    mut carry_out: impl FnMut(Request, &mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let (mut line, mut reply) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        reply.clear();
        if input.by_ref().take(REQUEST_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.len() as u64 == REQUEST_BYTES && !line.ends_with(b"\n") {
            skip_line(&mut input)?;
            refuse_line(&mut reply, format!("a request has at most {REQUEST_BYTES} bytes"))?;
        } else if line.trim_ascii().is_empty() {
            continue;
        } else {
            match Request::read(&line) {
                Ok(Request::Close) => return Ok(()),
                Ok(Request::Hello { protocol }) if protocol != PROTOCOL => refuse_line(
                    &mut reply,
                    format!("this worker speaks version {PROTOCOL} of the protocol, not {protocol}"),
                )?,
                Ok(request) => carry_out(request, &mut reply)?,
                Err(problem) => refuse_line(&mut reply, problem)?,
            }
        }
        output.write_all(&reply)?;
        output.flush()?;
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let here = input.fill_buf()?;
        let (used, done) = match here.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (here.len(), here.is_empty()),
        };
        input.consume(used);
        if done {
            return Ok(());
        }
    }
}

fn shown(reply: &mut Vec<u8>, frame: Result<crate::types::Frame, WorldError>) -> io::Result<()> {
    match frame {
        Ok(frame) => answer(reply, &Answer::Frame { frame: &frame }),
        Err(error) => fail(reply, (&error).into()),
    }
}

fn refuse_line(reply: &mut Vec<u8>, message: String) -> io::Result<()> {
    let kind = FailureKind::Protocol;
    fail(reply, Failure { kind, message })
}

fn fail(reply: &mut Vec<u8>, error: Failure) -> io::Result<()> {
    answer(reply, &Answer::Error { error })
}

fn answer(reply: &mut Vec<u8>, answer: &Answer<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *reply, answer)?;
    reply.push(b'\n');
    Ok(())
}
