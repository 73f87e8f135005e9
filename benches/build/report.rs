//! The figures: tables to read, and JSON lines for programs.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::Figures;
use crate::builds::{Build, ENCODE, STEPS};
use crate::common::median;
use crate::sorts::Sort;

impl Figures {
    /// Prints a line for each sort and each case.
    pub(crate) fn print(&self) {
        println!(
            "\n{} uniform fingerprints of 64 bits, medians of {} rounds\n",
            self.count, self.rounds
        );
        println!("{:<26} {:>7} {:>9} {:>7}", "sort", "threads", "s", "M/s");
        for line in (0..self.sorts.len()).map(|sort| self.sort_line(sort)) {
            println!(
                "{:<26} {:>7} {:>9.4} {:>7.1}{}",
                text(&line, "name"),
                figure(&line, "threads"),
                figure(&line, "seconds"),
                figure(&line, "million_per_second"),
                if line["fastest"] == true { " *" } else { "" },
            );
        }
        println!("\n{}", build_head());
        for case in 0..self.cases.len() {
            println!("{}", build_row(&self.build_line(case)));
        }
    }

    /// Appends the JSON lines to a file.
    pub(crate) fn append_to(&self, path: &Path) {
        let sorts = (0..self.sorts.len()).map(|sort| self.sort_line(sort));
        let builds = (0..self.cases.len()).map(|case| self.build_line(case));
        let text: String = sorts
            .chain(builds)
            .map(|line| format!("{line}\n"))
            .collect();
        let file = OpenOptions::new().create(true).append(true).open(path);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            panic!("{}: {error}", path.display());
        }
        println!("\nappended to {}", path.display());
    }

    /// Returns the sort with which builds on this many threads are compared: the fastest on at most as many.
    fn fastest_sort(&self, threads: usize) -> usize {
        let usable = (0..self.sorts.len()).filter(|&sort| self.sorts[sort].threads <= threads);
        usable
            .min_by(|&a, &b| self.sort_median(a).total_cmp(&self.sort_median(b)))
            .expect("there is a sort on one thread")
    }

    fn sort_median(&self, sort: usize) -> f64 {
        median(self.sort_seconds[sort].iter().copied())
    }

    fn sort_line(&self, sort: usize) -> Value {
        let seconds = self.sort_median(sort);
        let Sort { name, threads, .. } = self.sorts[sort];
        json!({
            "kind": "sort",
            "fingerprint_count": self.count,
            "rounds": self.rounds,
            "name": name,
            "threads": threads,
            "seconds": seconds,
            "million_per_second": self.millions() / seconds,
            "fastest": self.fastest_sort(threads) == sort,
            "seconds_of_rounds": self.sort_seconds[sort],
        })
    }

    fn build_line(&self, i: usize) -> Value {
        let (case, builds) = (&self.cases[i], &self.builds[i]);
        let sort = &self.sort_seconds[self.fastest_sort(case.threads)];
        let build = middle(builds);
        let seconds = median(builds.iter().map(|build| build.seconds));
        let times = |seconds: &dyn Fn(usize) -> f64| {
            median((0..self.rounds).map(|round| builds[round].seconds / seconds(round)))
        };
        let values = self.millions() * case.tables as f64;
        let encode = median(builds.iter().map(|build| build.steps[ENCODE]));
        let mut line = json!({
            "kind": "build",
            "fingerprint_count": self.count,
            "rounds": self.rounds,
            "tables": case.tables,
            "codec": case.codec_name(),
            "memory": case.memory,
            "memory_name": case.memory_name(),
            "threads": case.threads,
            "seconds": seconds,
            "million_per_second_per_table": values / seconds,
            "times_sort": times(&|round| sort[round] * case.tables as f64),
            "times_base": times(&|round| self.builds[0][round].seconds),
            "encode_million_per_second_per_core": values / encode / case.threads as f64,
            "bytes_per_fingerprint": build.index.len as f64 / self.count as f64,
            "seconds_of_rounds": builds.iter().map(|build| build.seconds).collect::<Vec<f64>>(),
        });
        for (step, seconds) in STEPS.iter().zip(build.steps) {
            line[format!("{step}_seconds")] = seconds.into();
        }
        line
    }

    fn millions(&self) -> f64 {
        self.count as f64 / 1e6
    }
}

/// The build whose time is in the middle: the times of its steps add up.
fn middle(builds: &[Build]) -> &Build {
    let mut sorted: Vec<&Build> = builds.iter().collect();
    sorted.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    sorted[sorted.len() / 2]
}

fn build_head() -> String {
    let mut head = format!(
        "{:>6} {:>5} {:>7} {:>7} {:>9} {:>9} {:>6} {:>6} {:>12} {:>6} |",
        "tables",
        "codec",
        "memory",
        "threads",
        "s",
        "M/s/table",
        "x sort",
        "x base",
        "enc M/s/core",
        "B/fp"
    );
    for step in STEPS {
        head += &format!(" {step:>8}");
    }
    head
}

fn build_row(line: &Value) -> String {
    let mut row = format!(
        "{:>6} {:>5} {:>7} {:>7} {:>9.4} {:>9.1} {:>6.2} {:>6.2} {:>12.1} {:>6.2} |",
        figure(line, "tables"),
        text(line, "codec"),
        text(line, "memory_name"),
        figure(line, "threads"),
        figure(line, "seconds"),
        figure(line, "million_per_second_per_table"),
        figure(line, "times_sort"),
        figure(line, "times_base"),
        figure(line, "encode_million_per_second_per_core"),
        figure(line, "bytes_per_fingerprint"),
    );
    for step in STEPS {
        row += &format!(" {:>8.4}", figure(line, &format!("{step}_seconds")));
    }
    row
}

fn figure(line: &Value, key: &str) -> f64 {
    line[key].as_f64().unwrap_or(f64::NAN)
}

fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line[key].as_str().unwrap_or("")
}
