//! Counts of clusters by size.

use super::chart::{Bar, BarChart};
use super::numbers::{grouped, plural};

/// Counts of clusters in size classes that double: 2, 3, 4, 5 to 8, 9 to 16 and so on.
#[derive(Debug, Default)]
pub struct SizeClasses {
    /// The numbers of clusters and of their records, for each class.
    classes: Vec<(u64, u64)>,
}

impl SizeClasses {
    /// Counts a cluster of at least two records.
    pub fn add(&mut self, size: u64) {
        let class = match size {
            0..=4 => size.saturating_sub(2) as usize,
            // Class 3 is 5 to 8.
            _ => (u64::BITS - (size - 1).leading_zeros()) as usize,
        };
        if self.classes.len() <= class {
            self.classes.resize(class + 1, (0, 0));
        }
        self.classes[class].0 += 1;
        self.classes[class].1 += size;
    }

    /// Formats the sizes of a class.
    fn label(class: usize) -> String {
        match class {
            0..=2 => (class + 2).to_string(),
            _ => format!(
                "{}\u{2013}{}",
                grouped((1 << (class - 1)) + 1),
                grouped(1 << class)
            ),
        }
    }

    /// Returns a chart of the classes.
    pub fn chart(&self) -> BarChart {
        let clusters: u64 = self.classes.iter().map(|class| class.0).sum();
        let bars = self.classes.iter().enumerate();
        BarChart {
            id: "sizes",
            title: "Clusters by their number of records".into(),
            alternative: match self.classes.first() {
                Some((pairs, _)) => format!(
                    "{}, of which {} have two records.",
                    plural(clusters, "cluster"),
                    grouped(*pairs)
                ),
                None => "There is no cluster.".into(),
            },
            x_label: "records of a cluster",
            y_label: "clusters",
            bars: bars
                .map(|(class, &(clusters, records))| Bar {
                    label: Self::label(class),
                    value: clusters as f64,
                    figures: vec![grouped(clusters), grouped(records)],
                })
                .collect(),
            columns: &["clusters", "records in them"],
            ..BarChart::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_one_class() {
        let mut classes = SizeClasses::default();
        for size in [2, 2, 3, 4, 5, 8, 9, 16, 17] {
            classes.add(size);
        }
        assert_eq!(
            classes.classes,
            [(2, 4), (1, 3), (1, 4), (2, 13), (2, 25), (1, 17)]
        );
        let labels: Vec<String> = (0..6).map(SizeClasses::label).collect();
        assert_eq!(labels, ["2", "3", "4", "5–8", "9–16", "17–32"]);
    }
}
