//! Documents to fingerprints compared with the bare libraries that do most of the work, in bytes a second of one
//! thread.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use simidx::Width;
use simidx_input::Content;
use simidx_text::{Pipeline, PipelineOptions};
use unicode_segmentation::UnicodeSegmentation;

/// The documents of one of the project's own sets.
fn documents(name: &str) -> Vec<String> {
    let path = format!("{}/../data/{name}.jsonl.gz", env!("CARGO_MANIFEST_DIR"));
    let records = simidx_input::open(path.as_ref(), None).expect("the set is there");
    let texts = records.map(|record| match record.expect("the set is sound").content {
        Content::Text(text) => text,
        Content::Fingerprint(_) => panic!("the set holds documents"),
    });
    texts.collect()
}

/// A page around a text, of which about half is markup.
fn page(text: &str) -> String {
    let paragraphs = text.split('\n').map(|line| {
        let line = line.replace('&', "&amp;").replace('<', "&lt;");
        let words = line.replace(
            " the ",
            " <a href=\"/the?x=1&amp;y=2\" class='link'>the</a> ",
        );
        format!("<p class=\"text wide\" id=\"p\">{words}</p>\n")
    });
    let body: String = paragraphs.collect();
    format!(
        "<!doctype html><html lang=en><head><title>Page</title><style>p {{ margin: 0 }}</style>\
         <script>var x = '</p>'; function f(a) {{ return a < 1 }}</script></head><body>\
         <nav><ul><li><a href=/>Home</a><li><a href=/all>All</a></ul></nav>\
         <!-- the text --><div role=main>{body}</div></body></html>"
    )
}

/// The page in the frame of a site: menus with data for scripts, so that about a fifth of it is text.
fn framed_page(text: &str) -> String {
    let page = page(text);
    let item = |i: usize| {
        format!(
            "<li class=\"menu__item menu__item--level-{0}\" data-track='{{\"id\":{i},\"kind\":\"nav\"}}'>\
             <a class=\"menu__link\" href=\"/section/{i}?from=menu&amp;pos={0}\" title=\"Section {i}\">S{i}</a></li>",
            i % 3
        )
    };
    let items = text.len() * 3 / item(10).len();
    let menu: String = (0..items).map(item).collect();
    let (head, body) = page.split_once("<body>").expect("a page has one");
    format!("{head}<body><header><nav><ul>{menu}</ul></nav></header>{body}")
}

fn pipeline(spec: &str) -> Pipeline {
    let options: PipelineOptions = spec.parse().expect("a pipeline");
    Pipeline::new(options).expect("stages that fit together")
}

/// Fingerprints all documents by pipelines, compared with `bare` on each.
fn compare(
    criterion: &mut Criterion,
    group: &str,
    documents: &[String],
    pipelines: &[&str],
    (name, bare): (&str, &dyn Fn(&str) -> usize),
) {
    let mut group = criterion.benchmark_group(group);
    let bytes: usize = documents.iter().map(String::len).sum();
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function(format!("bare/{name}"), |bencher| {
        bencher.iter(|| documents.iter().map(|text| bare(text)).sum::<usize>());
    });
    for spec in pipelines {
        let mut fingerprinter = pipeline(spec).fingerprinter(Width::W64).expect("64 bits");
        group.bench_function(*spec, |bencher| {
            bencher.iter(|| {
                for text in documents {
                    black_box(fingerprinter.fingerprint(text));
                }
            });
        });
    }
    group.finish();
}

fn english(criterion: &mut Criterion) {
    let pipelines = [
        "web",
        "short",
        "short,fingerprint=simhash",
        "short,fingerprint=simhash,segment=chars:4",
    ];
    let bare: &dyn Fn(&str) -> usize = &|text| text.unicode_words().map(str::len).sum();
    let documents = documents("en");
    compare(
        criterion,
        "text/en",
        &documents,
        &pipelines,
        ("unicode_words", bare),
    );
}

fn chinese(criterion: &mut Criterion) {
    let jieba = jieba_rs::Jieba::new();
    let bare = |text: &str| jieba.cut(text, true).len();
    let pipelines = [
        "news-zh,segment=auto",
        "news-zh,segment=auto,fingerprint=simhash",
        "news-zh,segment=jieba,fingerprint=simhash",
        "news-zh",
    ];
    let documents = documents("zh");
    compare(
        criterion,
        "text/zh",
        &documents,
        &pipelines,
        ("jieba", &bare),
    );
}

fn html(criterion: &mut Criterion) {
    let texts = documents("en");
    let framed: Vec<String> = texts.iter().map(|text| framed_page(text)).collect();
    let plain: Vec<String> = texts.iter().map(|text| page(text)).collect();
    let bare: &dyn Fn(&str) -> usize = &|page| {
        let mut count = 0;
        let count_text =
            |event: CallbackEvent<'_>, _: Span<()>| -> Option<std::convert::Infallible> {
                if let CallbackEvent::String { value } = event {
                    count += value.len();
                }
                None
            };
        let mut emitter = CallbackEmitter::new(count_text);
        emitter.naively_switch_states(true);
        let Ok(()) = Tokenizer::new_with_emitter(page, emitter).finish();
        count
    };
    let pipelines = ["web", "news-zh", "news-zh,fingerprint=simhash"];
    for (group, documents) in [("text/html", &framed), ("text/html-half-text", &plain)] {
        compare(criterion, group, documents, &pipelines, ("html5gum", bare));
    }
}

/// The default pipeline on one thread and on all.
fn parallel(criterion: &mut Criterion) {
    let documents = documents("en");
    let mut group = criterion.benchmark_group("text/parallel");
    let bytes: usize = documents.iter().map(String::len).sum();
    group.throughput(Throughput::Bytes(bytes as u64));
    let pipeline = Pipeline::default();
    let mut fingerprinter = pipeline.fingerprinter(Width::W64).expect("64 bits");
    group.bench_function("one", |bencher| {
        bencher.iter(|| {
            for text in &documents {
                black_box(fingerprinter.fingerprint(text));
            }
        });
    });
    let parallel = pipeline.parallel(Width::W64).expect("64 bits");
    group.bench_function("batch", |bencher| {
        bencher.iter(|| black_box(parallel.fingerprints(&documents)));
    });
    group.finish();
}

criterion_group!(benches, parallel, english, chinese, html);
criterion_main!(benches);
