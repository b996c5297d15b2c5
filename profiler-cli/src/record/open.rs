//! Shows a capture in the Perfetto UI: a server on the loopback address gives the trace out once, and ends.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::console::Console;
use crate::exit::Error;

/// The only port of this machine from which the UI loads traces (its Content-Security-Policy names it).
const PORT: u16 = 9001;
/// The page that may read the answers.
const UI: &str = "https://ui.perfetto.dev";
/// For how long the UI may take to ask for the trace.
const AT_MOST: Duration = Duration::from_secs(300);
/// For how long one who connects may take to ask.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens the UI with the timeline of a capture. Returns when it has the trace, or has not asked for it for long.
pub(crate) fn open(capture: &Path, console: &Console) -> Result<(), Error> {
    let cannot = |error: io::Error| Error::new(format!("cannot show the timeline: {error}"));
    let folder = tempfile::tempdir().map_err(cannot)?;
    let trace = folder.path().join("trace.pftrace");
    let program = std::env::current_exe().map_err(cannot)?;
    let exported = Command::new(program)
        .arg("export")
        .arg(capture)
        .arg("--quiet")
        .arg("-o")
        .arg(&trace)
        .status();
    if !exported.map_err(cannot)?.success() {
        return Err(Error::new("cannot show the timeline: it could not be exported"));
    }
    let bytes = fs::read(&trace).map_err(cannot)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).map_err(|error| {
        cannot(error).with_help(format!(
            "free port {PORT}, from which alone the UI loads traces, or open an export yourself: `profiler export`"
        ))
    })?;
    // Its name is random: nobody else finds the trace.
    let secret = folder.path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let path = format!("/{}.pftrace", secret.trim_start_matches('.'));
    let url = format!("{UI}/#!/?url=http://127.0.0.1:{PORT}{path}");
    console.note(&format!("{url}\n(the trace stays on this machine; Ctrl-C ends this)"));
    let _no_browser = Command::new("xdg-open")
        .arg(&url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    serve(&listener, &path, &bytes, AT_MOST).map_err(cannot)
}

/// Answers until the trace was given out.
fn serve(listener: &TcpListener, path: &str, bytes: &[u8], at_most: Duration) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let start = Instant::now();
    while start.elapsed() < at_most {
        match listener.accept() {
            // One who asks for something else, or goes away, is no reason to end.
            Ok((stream, _)) => {
                if answer(stream, path, bytes).unwrap_or(false) {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "nobody asked for it"))
}

/// Answers one who asks. Says whether he got the trace.
fn answer(stream: TcpStream, path: &str, bytes: &[u8]) -> io::Result<bool> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(&stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let allowed = format!(
        "Access-Control-Allow-Origin: {UI}\r\nAccess-Control-Allow-Private-Network: true\r\nConnection: close\r\n"
    );
    let mut words = first.split(' ');
    let (method, asked) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_trace = asked == path;
    let mut writer = &stream;
    if method == "GET" && is_trace {
        let length = bytes.len();
        write!(writer, "HTTP/1.1 200 OK\r\n{allowed}Content-Length: {length}\r\n")?;
        write!(writer, "Content-Type: application/octet-stream\r\n\r\n")?;
        writer.write_all(bytes)?;
        writer.flush()?;
        return Ok(true);
    }
    // The browser asks first whether it may ask.
    let status = if is_trace { "204 No Content" } else { "404 Not Found" };
    write!(writer, "HTTP/1.1 {status}\r\n{allowed}Content-Length: 0\r\n\r\n")?;
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_trace_is_given_out_by_its_path_alone_and_once() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = std::thread::spawn(move || {
            serve(&listener, "/secret", b"trace", Duration::from_secs(60))
        });
        let ask = |what: &str| {
            let mut stream = TcpStream::connect(address).expect("it listens");
            write!(stream, "{what} HTTP/1.1\r\nHost: x\r\n\r\n").expect("it reads");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("it answers");
            answer
        };
        assert!(ask("GET /").starts_with("HTTP/1.1 404"));
        assert!(ask("OPTIONS /secret").starts_with("HTTP/1.1 204"));
        let answer = ask("GET /secret");
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\ntrace"),
            "{answer}"
        );
        assert!(answer.contains("Access-Control-Allow-Origin: https://ui.perfetto.dev\r\n"));
        server.join().expect("no panic").expect("it ends");
        assert!(TcpStream::connect(address).is_err());
    }
}
