//! Answers with a limit: exact up to it, and an error beyond.

use simidx::set::Question;
use simidx::{Watch, Width};
use simidx_collection::{Collection, Error, Near, Numbered, Options, Result};

/// The ids of an answer, or nothing if there are too many bytes of them.
#[track_caller]
fn ids(answer: Result<Numbered<Vec<Near>>>) -> Option<Vec<String>> {
    match answer {
        Ok(answer) => Some(answer.value.into_iter().flat_map(|near| near.ids).collect()),
        Err(Error::Index(simidx::Error::LimitReached { .. })) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_ids_of_an_answer_have_no_more_bytes_than_permitted() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.background = false;
    let pages = Collection::create(folder.path().join("pages"), Width::W64, options).unwrap();
    // Two segments and recent records, with deleted records in all of them.
    for number in 0..30_u64 {
        let id = format!("{number:0100}");
        pages.add(&id, 0xff ^ (number % 3)).unwrap();
        if number % 10 == 5 {
            pages.delete(&id).unwrap();
        }
        if number == 9 || number == 19 {
            pages.seal(&Watch::default()).unwrap();
            pages.delete(&format!("{:0100}", number - 1)).unwrap();
        }
    }
    let all: Vec<String> = pages
        .query(0xff_u64, 3)
        .unwrap()
        .into_iter()
        .flat_map(|near| near.ids)
        .collect();
    assert_eq!(all.len(), 25);
    let query = |most| ids(pages.answer(0xff_u64, Question::Within(3), most));
    assert_eq!(query(Some(2500)).as_ref(), Some(&all));
    assert_eq!(query(Some(2499)), None);
    for count in 1..4 {
        let nearest = pages.nearest(0xff_u64, count, 3).unwrap();
        let all: Vec<String> = nearest.iter().flat_map(|near| near.ids.clone()).collect();
        let nearest_ids = |most| {
            ids(pages.answer(
                0xff_u64,
                Question::Nearest {
                    count,
                    max_distance: 3,
                },
                most,
            ))
        };
        let len = 100 * all.len();
        assert_eq!(nearest_ids(Some(len)).as_ref(), Some(&all), "{count}");
        assert_eq!(nearest_ids(Some(len - 1)), None, "{count}");
        // Without ids there is nothing to limit.
        let bare = pages
            .answer(
                0xff_u64,
                Question::Nearest {
                    count,
                    max_distance: 3,
                },
                None,
            )
            .unwrap()
            .value;
        let fingerprints = |all: &[Near]| -> Vec<(u32, u128)> {
            all.iter()
                .map(|near| (near.distance, near.fingerprint))
                .collect()
        };
        assert_eq!(fingerprints(&bare), fingerprints(&nearest));
        assert!(bare.iter().all(|near| near.ids.is_empty()));
    }
    let bare = pages
        .answer(0xff_u64, Question::Within(3), None)
        .unwrap()
        .value;
    assert_eq!(bare.len(), 3);
    assert!(bare.iter().all(|near| near.ids.is_empty()));
}
