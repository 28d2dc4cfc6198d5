//! The protocol between the parent and the warden: one request, one report.

use std::io::{self, Read, Write};

use framing::Frames;
use serde::{Deserialize, Serialize};

use crate::spec::{End, Output, Report, Spec};

/// The maximum length of a frame with the description of a program, in bytes.
const MAX_HEADER: usize = 4 << 20;

/// The frames that come before the streams. Their memory is wiped, because the environment of a program can hold
/// secrets.
const HEADERS: Frames = Frames::up_to(MAX_HEADER).wiped();

/// The request that the parent sends to the warden.
#[derive(Serialize, Deserialize)]
pub(crate) struct RunRequest {
    /// The program to run.
    pub(crate) spec: Spec,
    /// The process that sends the request. When that process ends, the program is ended as well.
    pub(crate) parent: u32,
    /// The number of bytes of standard input that follow.
    pub(crate) input: u64,
    /// Whether input and output are streamed to and from the program while it runs. The report is then sent over
    /// standard error.
    #[serde(default)]
    pub(crate) live: bool,
}

#[derive(Serialize, Deserialize)]
struct ReportHeader {
    end: End,
    stdout: (usize, u64),
    stderr: (usize, u64),
}

/// Writes a request and the program's input.
pub(crate) fn write_request(out: &mut impl Write, question: &RunRequest, input: &[u8]) -> io::Result<()> {
    HEADERS.write(out, question)?;
    out.write_all(input)?;
    out.flush()
}

/// Reads a request and the program's input.
pub(crate) fn read_request(from: &mut impl Read) -> io::Result<(RunRequest, Vec<u8>)> {
    let question: RunRequest = HEADERS.read(from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut input = Vec::new();
    from.take(question.input).read_to_end(&mut input)?;
    if input.len() as u64 != question.input {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((question, input))
}

/// Writes a report.
pub(crate) fn write_report(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let sizes = |output: &Output| (output.bytes.len(), output.cut);
    let header = ReportHeader {
        end: report.end.clone(),
        stdout: sizes(&report.stdout),
        stderr: sizes(&report.stderr),
    };
    HEADERS.write(out, &header)?;
    out.write_all(&report.stdout.bytes)?;
    out.write_all(&report.stderr.bytes)?;
    out.flush()
}

/// Reads a report with at most `most` bytes of each stream.
pub(crate) fn read_report(from: &mut impl Read, most: u64) -> io::Result<Report> {
    let header: ReportHeader = HEADERS.read(from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut stream = |(length, cut): (usize, u64)| -> io::Result<Output> {
        if length as u64 > most {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "there is more output than was asked for",
            ));
        }
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes)?;
        Ok(Output { bytes, cut })
    };
    Ok(Report { stdout: stream(header.stdout)?, stderr: stream(header.stderr)?, end: header.end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_round_trips_within_the_agreed_size() {
        let report = Report {
            end: End::Exited { status: 1 },
            stdout: Output { bytes: b"out".to_vec(), cut: 7 },
            stderr: Output { bytes: vec![0, 255], cut: 0 },
        };
        let mut bytes = Vec::new();
        write_report(&mut bytes, &report).unwrap();
        assert_eq!(read_report(&mut bytes.as_slice(), 3).unwrap(), report);
        assert!(read_report(&mut bytes.as_slice(), 2).is_err());
        for cut in 0..bytes.len() {
            assert!(read_report(&mut &bytes[..cut], 3).is_err(), "{cut}");
        }
        let longer = u32::try_from(MAX_HEADER + 1).unwrap().to_le_bytes();
        let refused = read_report(&mut longer.as_slice(), 3).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }
}
