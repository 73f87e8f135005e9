//! Opening a file, and queries on a file that is not in memory, each compared with the plain reads that bound it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustix::fs::{Advice, fadvise};
use simidx::design::PlanRequest;
use simidx::{Codec, Index, Scratch};

use crate::Workload;
use crate::common;
use crate::common::median;
use crate::contenders::{Configuration, simidx_configurations};

const PAGE_LEN: usize = 4096;

/// The figures of one file, medians in microseconds.
pub(crate) struct Opening {
    pub(crate) name: String,
    pub(crate) file_len: u64,
    /// Opening the file while it is in the page cache, and reading all of it.
    pub(crate) open_us: f64,
    pub(crate) read_us: f64,
    /// With the page cache dropped: a query after opening, both together, and reading one page.
    pub(crate) cold_query_us: f64,
    pub(crate) cold_open_us: f64,
    pub(crate) cold_read_us: f64,
}

/// Tables of a design that reads so few blocks that its cold queries are worth measuring.
const FEW_PROBES: usize = 6;

/// Measures the smallest index of each codec, the one whose design is chosen for the count, and one of few probes.
pub(crate) fn measure(workload: &Workload) -> Vec<Opening> {
    let wanted =
        |configuration: &Configuration| workload.settings.wants(&opening_name(configuration));
    let chosen = chosen_configurations(workload);
    let chosen = chosen.into_iter().filter(wanted);
    chosen
        .map(|configuration| measure_one(&configuration, workload))
        .collect()
}

fn opening_name(configuration: &Configuration) -> String {
    format!("open/{}", configuration.name())
}

fn chosen_configurations(workload: &Workload) -> Vec<Configuration> {
    let settings = workload.settings;
    let count = workload.fingerprints.len() as u64;
    let mut all = simidx_configurations(settings);
    let fewest = all.iter().map(|c| c.design.table_count()).min();
    let mut request = PlanRequest::new(count, settings.distance);
    request.codec = Some(Codec::Lines);
    let chosen = request.design().ok().map(|design| design.table_count());
    all.retain(|c| {
        let tables = Some(c.design.table_count());
        let wanted = tables == fewest || tables == chosen || tables == Some(FEW_PROBES);
        c.block_size == settings.block_sizes[0] && wanted
    });
    all
}

fn measure_one(configuration: &Configuration, workload: &Workload) -> Opening {
    let name = opening_name(configuration);
    eprintln!("measuring {name}");
    let folder = &workload.settings.directory;
    let measured = measure_file(configuration, workload, folder);
    let (file_len, warm, cold) =
        measured.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    Opening {
        name,
        file_len,
        open_us: median(warm.iter().map(|times| times[0])),
        read_us: median(warm.iter().map(|times| times[1])),
        cold_query_us: median(cold.iter().map(|times| times[0])),
        cold_open_us: median(cold.iter().map(|times| times[1])),
        cold_read_us: median(cold.iter().map(|times| times[2])),
    }
}

type Measured = (u64, Vec<[f64; 2]>, Vec<[f64; 3]>);

fn measure_file(
    configuration: &Configuration,
    workload: &Workload,
    folder: &Path,
) -> io::Result<Measured> {
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&configuration.file(workload.fingerprints))?;
    // Only pages that are on the disk can be dropped.
    file.as_file().sync_all()?;
    let (warm_times, cold_times) = if common::is_test() { (3, 5) } else { (20, 200) };

    let mut buffer = vec![0; 1 << 20];
    read_whole(file.path(), &mut buffer)?;
    let warm: io::Result<Vec<_>> = (0..warm_times)
        .map(|_| {
            let open = us(|| open(file.path()).map(drop))?;
            Ok([open, us(|| read_whole(file.path(), &mut buffer))?])
        })
        .collect();
    let queries = workload.queries.iter().take(cold_times);
    let cold: io::Result<Vec<_>> = queries
        .map(|&query| cold(file.path(), query, workload.settings.distance))
        .collect();
    Ok((file.as_file().metadata()?.len(), warm?, cold?))
}

/// A query on a file that was just opened, opening and query, and reading a page: each with no page cached.
fn cold(path: &Path, query: u64, distance: u32) -> io::Result<[f64; 3]> {
    drop_page_cache(path)?;
    let started = Instant::now();
    let index = open(path)?;
    let opened = started.elapsed();
    let mut scratch = Scratch::new();
    index
        .query_with(&mut scratch, query, distance)
        .map_err(io::Error::other)?;
    let asked = started.elapsed();
    drop(index);

    drop_page_cache(path)?;
    let file = File::open(path)?;
    let pages = file.metadata()?.len() / PAGE_LEN as u64;
    let page = SmallRng::seed_from_u64(query).random_range(0..pages.max(1));
    let mut buffer = [0; PAGE_LEN];
    let read = us(|| file.read_at(&mut buffer, page * PAGE_LEN as u64).map(drop))?;
    Ok([
        (asked - opened).as_secs_f64() * 1e6,
        asked.as_secs_f64() * 1e6,
        read,
    ])
}

/// Drops the file from the page cache; what is mapped stays, so no index may be open.
fn drop_page_cache(path: &Path) -> io::Result<()> {
    Ok(fadvise(File::open(path)?, 0, None, Advice::DontNeed)?)
}

fn open(path: &Path) -> io::Result<Index<u64>> {
    Index::open(path).map_err(io::Error::other)
}

fn read_whole(path: &Path, buffer: &mut [u8]) -> io::Result<()> {
    let mut file = File::open(path)?;
    while file.read(buffer)? > 0 {}
    Ok(())
}

fn us(work: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_secs_f64() * 1e6)
}
