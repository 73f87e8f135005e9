//! The folder of a collection: its lock, its manifest, and the removal of leftover files.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use simidx::set::{Manifest, ManifestSegment};
use simidx::watch::Stage;
use simidx::{Set, Watch, Width};

use crate::error::{Error, Result, at};
use crate::journal::{self, FILES};
use crate::options::Options;
use crate::state::Segment;
use crate::system::sync_folder;

/// The version of the notes in the manifest.
const VERSION: &str = "2";
const NOTE_VERSION: &str = "collection";
const NOTE_WIDTH: &str = "collection.width";
const NOTE_DISTANCE: &str = "collection.distance";
const NOTE_PIPELINE: &str = "collection.pipeline";
/// The last change whose records are in segments.
const NOTE_SEALED: &str = "collection.sealed";
/// The prefix of the note with the last change of a segment, before the segment's name.
const NOTE_LAST: &str = "collection.last.";

/// The locked folder of an open collection.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
}

/// The settings that are fixed when a collection is created.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) width: Width,
    pub(crate) max_distance: u32,
    pub(crate) pipeline: Option<String>,
}

impl Folder {
    /// Creates the folder of a new collection, with an empty manifest.
    ///
    /// # Errors
    /// The folder has a collection or other files, or cannot be written.
    pub(crate) fn create(path: &Path, width: Width, options: &Options) -> Result<Self> {
        make_folders(path)?;
        let folder = Self::lock(path)?;
        for entry in fs::read_dir(path).map_err(at(path))? {
            let name = entry.map_err(at(path))?.file_name();
            let is_ours = name
                .to_str()
                .is_some_and(|name| name == "lock" || FILES.contains(&name) || is_temporary(name));
            if !is_ours {
                return Err(Error::NotACollection {
                    path: path.to_owned(),
                    message: format!("is not empty: it has {}", Path::new(&name).display()),
                });
            }
        }
        journal::remove_unused(path)?;
        journal::make(path)?;
        let mut manifest = Manifest::default();
        let mut note = |key: &str, value: String| manifest.notes.insert(key.to_owned(), value);
        note(NOTE_VERSION, VERSION.to_owned());
        note(NOTE_WIDTH, width.to_string());
        note(NOTE_DISTANCE, options.max_distance.to_string());
        note(NOTE_SEALED, "0".to_owned());
        if let Some(pipeline) = &options.pipeline {
            note(NOTE_PIPELINE, pipeline.clone());
        }
        manifest.publish(path)?;
        Ok(folder)
    }

    /// Locks the folder of a collection.
    ///
    /// # Errors
    /// It is locked elsewhere.
    pub(crate) fn lock(path: &Path) -> Result<Self> {
        let name = path.join("lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&name);
        let lock = lock.map_err(at(&name))?;
        match lock.try_lock() {
            Ok(()) => Ok(Folder {
                // The process may move to another folder.
                path: std::path::absolute(path).map_err(at(path))?,
                lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Error::Locked(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(at(&name)(error)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Unlocks the folder.
    pub(crate) fn unlock(&self) {
        // Otherwise closing the file unlocks it.
        let _ = self.lock.unlock();
    }

    /// Returns the path of a segment by its number.
    pub(crate) fn segment(&self, number: u64) -> PathBuf {
        self.path.join(segment_name(number))
    }

    /// Removes unlisted segments and incomplete files.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub(crate) fn sweep(&self, manifest: &Manifest) -> Result<()> {
        let listed: HashSet<&str> = manifest.segments.iter().map(|s| &*s.name).collect();
        for entry in fs::read_dir(&self.path).map_err(at(&self.path))? {
            let name = entry.map_err(at(&self.path))?.file_name();
            let Some(name) = name.to_str() else { continue };
            let is_orphan = segment_number(name).is_some() && !listed.contains(name);
            if is_orphan || is_temporary(name) {
                let path = self.path.join(name);
                fs::remove_file(&path).map_err(at(&path))?;
            }
        }
        Ok(())
    }
}

/// Creates a folder and its missing parents.
fn make_folders(path: &Path) -> Result<()> {
    let missing = parents_of_missing(path);
    fs::create_dir_all(path).map_err(at(path))?;
    // The contents of a folder are durable only if its own name is.
    for parent in missing {
        sync_folder(parent).map_err(at(parent))?;
    }
    Ok(())
}

/// Creates a folder that must not exist.
///
/// # Errors
/// It exists, or any error of the operating system.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    let parent = parent(path);
    make_folders(parent)?;
    fs::create_dir(path).map_err(at(path))?;
    sync_folder(parent).map_err(at(parent))
}

/// Returns the parent folder of a path.
fn parent(path: &Path) -> &Path {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Links the segments of a collection to another folder, or copies them if that is not possible. A manifest that is
/// later published there syncs their names to disk.
///
/// # Errors
/// Any error of the operating system, or the watch stops the work.
pub(crate) fn copy_segments(
    manifest: &Manifest,
    from: &Path,
    to: &Path,
    watch: &Watch,
) -> Result<()> {
    let count = manifest.segments.len() as u64;
    for (number, segment) in (0..).zip(&manifest.segments) {
        watch.report(Stage::Copy, number, count)?;
        let (old, new) = (from.join(&segment.name), to.join(&segment.name));
        if fs::hard_link(&old, &new).is_err() {
            fs::copy(&old, &new).map_err(at(&new))?;
            let copy = File::options().write(true).open(&new);
            copy.and_then(|copy| copy.sync_all()).map_err(at(&new))?;
        }
    }
    Ok(())
}

/// Returns the folders in which new folders are created for `path`.
fn parents_of_missing(path: &Path) -> Vec<&Path> {
    let folders = path.ancestors();
    let missing = folders.take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    missing.map(parent).collect()
}

pub(crate) fn segment_name(number: u64) -> String {
    format!("segment-{number:010}.simidx")
}

fn segment_number(name: &str) -> Option<u64> {
    name.strip_prefix("segment-")?
        .strip_suffix(".simidx")?
        .parse()
        .ok()
}

/// Returns whether a file is incomplete.
fn is_temporary(name: &str) -> bool {
    name.starts_with(".simidx-") && name.ends_with(".tmp")
}

fn note<T: std::str::FromStr>(manifest: &Manifest, path: &Path, key: &str) -> Result<T> {
    let value = manifest.notes.get(key).and_then(|value| value.parse().ok());
    value.ok_or_else(|| Error::NotACollection {
        path: path.to_owned(),
        message: format!("its manifest has no {key}"),
    })
}

/// Returns whether a folder has a manifest.
///
/// # Errors
/// It cannot be determined.
pub(crate) fn has_manifest(path: &Path) -> Result<bool> {
    Manifest::is_at(path).map_err(at(path))
}

/// Reads the manifest of a collection.
///
/// # Errors
/// There is no folder or no manifest, or it is not that of a collection.
pub(crate) fn read_manifest(path: &Path) -> Result<(Manifest, Settings)> {
    fs::metadata(path).map_err(at(path))?;
    if !has_manifest(path)? {
        return Err(Error::NotACollection {
            path: path.to_owned(),
            message: "is not a collection: it has no manifest".to_owned(),
        });
    }
    let manifest = Manifest::read(path)?;
    let version: String = note(&manifest, path, NOTE_VERSION)?;
    if version != VERSION {
        return Err(Error::NotACollection {
            path: path.to_owned(),
            message: format!(
                "is of another version of simidx: {version}, and not {VERSION}; with the simidx that wrote it, seal it and print \
                 its records (simidx dump), then add them to a new folder"
            ),
        });
    }
    let bits = note(&manifest, path, NOTE_WIDTH)?;
    let width = Width::from_bits(bits).ok_or_else(|| Error::NotACollection {
        path: path.to_owned(),
        message: format!("its manifest has {bits} as its width"),
    })?;
    let settings = Settings {
        width,
        max_distance: note(&manifest, path, NOTE_DISTANCE)?,
        pipeline: manifest.notes.get(NOTE_PIPELINE).cloned(),
    };
    Ok((manifest, settings))
}

/// Returns the last change whose records are in segments.
///
/// # Errors
/// The manifest does not record it.
pub(crate) fn sealed(manifest: &Manifest, path: &Path) -> Result<u64> {
    note(manifest, path, NOTE_SEALED)
}

/// Opens the segments in the manifest of a collection of this width.
///
/// # Errors
/// A file that cannot be opened, or differs from the manifest.
pub(crate) fn open_segments(
    manifest: &Manifest,
    path: &Path,
    width: Width,
) -> Result<Vec<Arc<Segment>>> {
    let mut segments = Vec::new();
    for listed in &manifest.segments {
        let number = segment_number(&listed.name).ok_or_else(|| Error::NotACollection {
            path: path.to_owned(),
            message: format!(
                "{} is not the name of a segment of a collection",
                listed.name
            ),
        })?;
        let last = note(manifest, path, &format!("{NOTE_LAST}{number}"))?;
        let file = path.join(&listed.name);
        let segment = open_segment(&file, number, last)?;
        let found = ManifestSegment::of_file(&listed.name, segment.set.first())?;
        if found != *listed || found.width != width.bits() {
            return Err(Error::NotACollection {
                path: path.to_owned(),
                message: format!("{} is not the file that is listed", listed.name),
            });
        }
        segments.push(segment);
    }
    Ok(segments)
}

/// Opens a segment.
///
/// # Errors
/// The file cannot be opened.
pub(crate) fn open_segment(file: &Path, number: u64, last: u64) -> Result<Arc<Segment>> {
    Ok(Arc::new(Segment {
        number,
        path: file.to_owned(),
        last,
        set: Set::open([file])?,
    }))
}

/// Replaces segments of a manifest by a new one, and increments the generation. The new one takes the place of the
/// first that is removed, or the end.
///
/// # Errors
/// A damaged block of the new segment.
pub(crate) fn replace(
    manifest: &mut Manifest,
    gone: &[u64],
    new: Option<&Segment>,
    sealed: Option<u64>,
) -> Result<()> {
    let is_gone = |listed: &ManifestSegment| {
        segment_number(&listed.name).is_some_and(|number| gone.contains(&number))
    };
    let place = manifest.segments.iter().position(is_gone);
    let place = place.unwrap_or(manifest.segments.len());
    manifest.segments.retain(|listed| !is_gone(listed));
    for number in gone {
        manifest.notes.remove(&format!("{NOTE_LAST}{number}"));
    }
    if let Some(segment) = new {
        let name = segment_name(segment.number);
        let listed = ManifestSegment::of_file(&name, segment.set.first())?;
        manifest.segments.insert(place, listed);
        let key = format!("{NOTE_LAST}{}", segment.number);
        manifest.notes.insert(key, segment.last.to_string());
    }
    if let Some(sealed) = sealed {
        manifest
            .notes
            .insert(NOTE_SEALED.to_owned(), sealed.to_string());
    }
    manifest.generation += 1;
    Ok(())
}

/// Returns the number after the highest of the segments.
pub(crate) fn next_number(manifest: &Manifest) -> u64 {
    let numbers = manifest
        .segments
        .iter()
        .filter_map(|s| segment_number(&s.name));
    numbers.max().map_or(1, |number| number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_that_is_made_has_its_name_synced() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path();
        let path = there.join("a/b/c");
        let parents = parents_of_missing(&path);
        assert_eq!(parents, [&*there.join("a/b"), &*there.join("a"), there]);
        assert!(parents_of_missing(there).is_empty());
        assert_eq!(
            parents_of_missing(Path::new("no/such")),
            [Path::new("no"), Path::new(".")]
        );
    }
}
