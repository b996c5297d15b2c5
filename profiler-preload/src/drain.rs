//! Copies what was recorded to a file, in a thread of its own and in streams of its own.

use std::fs::File;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use profiler_wire::descriptor::Lost;
use profiler_wire::header::{self, ExitHeader};
use profiler_wire::record::UNIT_BYTES;
use profiler_wire::spool::{Entry, Launch, MAGIC, Records};

use crate::driver::{self, Code, Entered, Handle};
use crate::module::{Arrays, read, read_rows};
use crate::session::{self, IS_OFF, Session, guarded, lock};

/// How often the thread looks whether launches have ended.
const EVERY: Duration = Duration::from_millis(5);
/// For how long the program's end waits for its launches.
const AT_END: Duration = Duration::from_secs(10);
/// For how long the end of a context waits for its launches.
const BEFORE_CONTEXT_GOES: Duration = Duration::from_secs(5);

/// The file. Who holds it may take the session's lock too, but not the other way round.
static FILE: Mutex<Option<File>> = Mutex::new(None);
/// Whether it was opened: before, nobody but who opens it may hold it.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
/// Whether there are launches to look at.
static WORK: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the file and starts the thread.
pub(crate) fn start(folder: &Path) -> Option<()> {
    let path = folder.join(format!("{}.spool", std::process::id()));
    let mut file = File::create(path).ok()?;
    file.write_all(MAGIC).ok()?;
    *held(&FILE) = Some(file);
    // After the driver's own, so that this one runs first.
    // SAFETY: the function is one of this library, which is never unloaded.
    unsafe { libc::atexit(finish) };
    HAS_BEGUN.store(true, Ordering::Release);
    let thread = std::thread::Builder::new().name("profiler".to_owned());
    thread.spawn(|| guarded(run)).ok().map(|_| ())
}

/// Tells the thread that there is something to do.
pub(crate) fn wake() {
    *held(&WORK.0) = true;
    WORK.1.notify_one();
}

fn run() {
    // The program's signals are for its own threads.
    // SAFETY: the set is a live variable, which the first call fills.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, ptr::null_mut());
    }
    loop {
        let mut work = held(&WORK.0);
        while !*work {
            work = WORK.1.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
        *work = false;
        drop(work);
        while step(&mut held(&FILE)) {
            std::thread::sleep(EVERY);
        }
    }
}

/// Waits for the launches of a context, or for all if it is null, and copies what they recorded, before what they are in goes away.
/// Gives up after a while.
fn drain_now(at_most: Duration, context: Handle) {
    if !HAS_BEGUN.load(Ordering::Acquire) {
        return;
    }
    let start = Instant::now();
    loop {
        step(&mut held(&FILE));
        let Some(session) = session::get() else { return };
        if !lock(session).has_in_flight(context) || start.elapsed() > at_most {
            return;
        }
        std::thread::sleep(EVERY / 5);
    }
}

/// Copies what was recorded in a context, if there is one, before `go` lets it go, and forgets it if it is gone then.
pub(crate) fn leave(
    context: Option<Handle>,
    go: impl FnOnce() -> Code,
    is_gone: impl FnOnce() -> bool,
) -> Code {
    let (Some(context), Some(session)) = (context, session::get()) else { return go() };
    guarded(|| drain_now(BEFORE_CONTEXT_GOES, context));
    // Nothing is copied from there while it goes.
    let _file = held(&FILE);
    let code = go();
    if is_gone() {
        guarded(|| lock(session).forget_context(context));
    }
    code
}

extern "C" fn finish() {
    guarded(|| {
        let Some(session) = session::get() else { return };
        drain_now(AT_END, ptr::null_mut());
        let mut file = held(&FILE);
        let mut session = lock(session);
        session.count_all();
        write(&mut file, &std::mem::take(&mut session.entries));
        // The driver goes next: nothing is recorded or copied from now on.
        *file = None;
        IS_OFF.store(true, Ordering::Relaxed);
    });
}

/// A module whose records are to be copied.
struct Job {
    index: usize,
    context: Handle,
    stream: Handle,
    arrays: Arrays,
    /// The slots to copy; of claimed ones the end is not known yet.
    slots: Range<u32>,
    is_claimed: bool,
    /// The losses that were copied before.
    lost: Lost,
    resets: bool,
}

/// Writes what there is to write. Says whether launches are still on their way.
fn step(file: &mut Option<File>) -> bool {
    let Some(session) = session::get() else { return false };
    let mut state = lock(session);
    let jobs = state.ended();
    let entries = std::mem::take(&mut state.entries);
    let waits = !state.in_flight.is_empty();
    drop(state);
    write(file, &entries);
    for job in &jobs {
        let copied = copy(job);
        let end = copied.map(|(records, end, lost)| {
            if !records.headers.is_empty() {
                write(file, &[Entry::Records(records)]);
            }
            (end, lost)
        });
        let mut state = lock(session);
        let module = &mut state.modules[job.index];
        module.is_draining = false;
        module.spoiled = u32::MAX;
        if job.resets {
            module.forget_slots();
        } else {
            // Launches that nobody knows of may still write to slots: those are not used again.
            let all = (job.arrays.descriptor.slot_count, job.lost);
            (module.copied, module.lost) = end.filter(|_| job.is_claimed).unwrap_or(all);
            module.promised = u64::from(module.copied);
        }
        state.reuse_memory();
    }
    waits
}

fn write(file: &mut Option<File>, entries: &[Entry]) {
    let mut bytes = Vec::new();
    for entry in entries {
        entry.encode_into(&mut bytes);
    }
    // The command finds the file without its end, and says so.
    *file = file.take().filter(|mut file| file.write_all(&bytes).is_ok());
}

impl Session {
    /// Whether launches are on their way, in one context or, if it is null, in all.
    fn has_in_flight(&self, context: Handle) -> bool {
        let is_there = |index: usize| context.is_null() || self.contexts[index].context == context;
        self.in_flight.iter().any(|flight| is_there(flight.context))
    }

    /// Takes out the launches that have ended, and says which modules are to be copied.
    fn ended(&mut self) -> Vec<Job> {
        let (contexts, modules) = (&mut self.contexts, &mut self.modules);
        let entries = &mut self.entries;
        self.in_flight.retain(|flight| {
            let times = || contexts[flight.context].read_stamps(flight.stamps);
            let Some(ns) = (!flight.is_open).then(times).flatten() else { return true };
            for module in &flight.modules {
                modules[*module].in_flight -= 1;
            }
            // One that was refused has no number.
            if flight.launch.number > 0 {
                entries.push(Entry::Launch(Launch { ns, ..flight.launch }));
            }
            false
        });
        let mut jobs = Vec::new();
        for (index, module) in modules.iter_mut().enumerate() {
            let is_copied = module.promised == u64::from(module.copied);
            if module.in_flight > 0 || is_copied || module.is_draining {
                continue;
            }
            module.is_draining = true;
            let context = &contexts[module.context];
            jobs.push(Job {
                index,
                context: context.context,
                stream: context.stream,
                arrays: module.arrays,
                slots: module.copied..(module.promised as u32).min(module.spoiled),
                is_claimed: module.is_claimed,
                lost: module.lost,
                resets: !module.is_in_several_streams,
            });
        }
        jobs
    }
}

/// Copies the records in the slots that were not copied yet. Gives them, how many slots are in use, and all losses.
fn copy(job: &Job) -> Option<(Records, u32, Lost)> {
    let _entered = Entered::new(job.context)?;
    let (arrays, stream) = (&job.arrays, job.stream);
    let descriptor = arrays.descriptor;
    let (from, mut end) = (job.slots.start, job.slots.end);
    if job.is_claimed {
        let mut claimed = [0; 8];
        read(arrays.claimed(), &mut claimed, stream)?;
        end = u64::from_le_bytes(claimed).min(u64::from(descriptor.slot_count)) as u32;
    }
    let mut lost = [0; Lost::BYTES];
    read(descriptor.lost, &mut lost, stream)?;
    let lost = Lost::from_bytes(&lost);
    let slots = end.saturating_sub(from) as usize;
    let mut headers = vec![0; slots * header::BYTES];
    if slots > 0 {
        let start = descriptor.headers + u64::from(from) * header::BYTES as u64;
        read(start, &mut headers, stream)?;
    }
    let whole = arrays.record_bytes();
    let used = headers.chunks_exact(header::BYTES).map(|bytes| used_bytes(bytes, whole));
    let width = used.max().unwrap_or(0);
    let mut records = vec![0; width * slots];
    if width > 0 {
        let start = descriptor.records + u64::from(from) * whole as u64;
        read_rows(start, whole, &mut records, width, slots, stream)?;
    }
    if job.resets {
        arrays.reset(stream, end).ok()?;
        // SAFETY: the stream is this library's own.
        unsafe { driver::stream_synchronize(stream) };
    }
    let records = Records {
        module: arrays.number,
        descriptor: arrays.seen().to_bytes(),
        lost: (lost - job.lost).to_bytes(),
        headers,
        record_bytes: width as u32,
        records,
    };
    Some((records, end, lost))
}

/// Bytes of a warp's records, of which there is memory for `whole`. A warp that has not ended may have written any.
fn used_bytes(header: &[u8], whole: usize) -> usize {
    let units = ExitHeader::unpack(&header::words(header)).map(|exit| exit.units as usize);
    units.map_or(whole, |units| units.saturating_mul(UNIT_BYTES as usize).min(whole))
}
