//! Templates: groups of texts that resemble each other but are not similar enough.

use std::collections::HashMap;
use std::io;

use super::NONE;
use super::groups::{Groups, place_of};

/// Smallest number of texts of a template.
const FLOOR: usize = 20;

/// Smallest number of kept texts of a group that counts.
const GROUP_FLOOR: usize = 8;

/// Largest number of templates that are reported.
const MOST_TEMPLATES: usize = 10;

/// Largest number of groups that are remembered.
const MOST_CROWDS: usize = 1 << 16;

/// Kept texts that have much in common, although no two of them are similar enough: for example pages with the same
/// layout, or notices of the same kind.
///
/// Texts with a common key form a group; only groups of at least eight kept texts count. The largest group is a
/// template. The others follow by descending size: if at least half of a group is in one template, the rest of it joins
/// that template; otherwise, its texts that are not in any template form a new one. Thus a text is in at most one
/// template.
///
/// ```
/// use simidx::Watch;
/// use simidx_text::Pipeline;
/// use simidx_text::similar::{SimilarOptions, SimilarTexts};
///
/// let order = |i: u32| format!(
///     "Thank you for your order. We have received it and will send the goods within three working days. \
///      Order {i}: {} of {}, {} to {}. If anything is wrong with it, please write to us within a week.",
///     i * 7, i * 11, i * 13, i * 17,
/// );
/// let mut collected = SimilarTexts::new(&Pipeline::default(), &SimilarOptions::default())?;
/// collected.push_all(&["A treatise on the growth of mushrooms in damp cellars."])?;
/// collected.push_all(&(1000..1100).map(order).collect::<Vec<_>>())?;
/// let found = collected.candidates()?.dedup(&Watch::default())?;
/// assert_eq!(found.dropped_count(), 0);
/// let [template] = found.templates() else { panic!() };
/// assert_eq!((template.count, template.example), (100, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Template {
    /// Number of kept texts of the template.
    pub count: usize,
    /// The number of an example: the text that was decided on first.
    pub example: usize,
}

/// The largest groups of kept texts so far.
#[derive(Debug)]
pub(super) struct Crowds {
    floor: usize,
    /// Band and group of all groups with at least `floor` kept members.
    groups: Vec<(usize, u32)>,
}

/// The number of kept members of a group, its band, and its number there.
pub(super) type Crowd = (usize, usize, u32);

impl Default for Crowds {
    fn default() -> Self {
        Crowds {
            floor: GROUP_FLOOR,
            groups: Vec::new(),
        }
    }
}

impl Crowds {
    /// Records that a group now has `kept_count` kept members.
    pub(super) fn note(
        &mut self,
        groups: &Groups,
        band: usize,
        group: u32,
        kept_count: usize,
    ) -> io::Result<()> {
        if kept_count != self.floor {
            return Ok(());
        }
        self.groups.push((band, group));
        while self.groups.len() > MOST_CROWDS {
            // Dropped groups return once they are large enough.
            self.floor *= 2;
            let large = self.sizes(groups)?.into_iter();
            let large = large.filter(|&(size, ..)| size >= self.floor);
            self.groups = large.map(|(_, band, group)| (band, group)).collect();
        }
        Ok(())
    }

    fn sizes(&self, groups: &Groups) -> io::Result<Vec<Crowd>> {
        let mut buffer = Vec::new();
        let mut size = |&(band, group): &(usize, u32)| {
            let size = groups.kept(band, group, &mut buffer)?.len();
            Ok((size, band, group))
        };
        self.groups.iter().map(&mut size).collect()
    }

    /// Returns the groups, the largest first.
    pub(super) fn sorted(self, groups: &Groups) -> io::Result<Vec<Crowd>> {
        let mut crowds = self.sizes(groups)?;
        crowds.sort_unstable_by_key(|&(size, band, group)| (std::cmp::Reverse(size), band, group));
        Ok(crowds)
    }
}

/// Returns the templates of groups, which must be sorted by descending size. Their examples are places.
pub(super) fn templates(
    groups: &Groups,
    crowds: Vec<Crowd>,
    place_count: usize,
) -> io::Result<Vec<Template>> {
    let mut template_of = match crowds.is_empty() {
        true => return Ok(Vec::new()),
        false => vec![NONE; place_count],
    };
    let mut templates: Vec<Template> = Vec::new();
    let mut buffer = Vec::new();
    for (size, band, group) in crowds {
        let members = groups.kept(band, group, &mut buffer)?;
        let mut shares: HashMap<u32, usize> = HashMap::new();
        for place in members.iter().map(place_of) {
            *shares.entry(template_of[place as usize]).or_default() += 1;
        }
        let free = shares.remove(&NONE).unwrap_or(0);
        let of_most = shares
            .into_iter()
            .max_by_key(|&(template, share)| (share, std::cmp::Reverse(template)));
        let template = match of_most {
            Some((template, share)) if 2 * share >= size => template,
            _ if free >= GROUP_FLOOR => {
                templates.push(Template {
                    count: 0,
                    example: usize::MAX,
                });
                templates.len() as u32 - 1
            }
            _ => continue,
        };
        let own = &mut templates[template as usize];
        for place in members.iter().map(|member| place_of(member) as usize) {
            if template_of[place] == NONE {
                template_of[place] = template;
                own.count += 1;
                own.example = own.example.min(place);
            }
        }
    }
    templates.retain(|template| template.count >= FLOOR);
    templates.sort_by_key(|template| (std::cmp::Reverse(template.count), template.example));
    templates.truncate(MOST_TEMPLATES);
    Ok(templates)
}
