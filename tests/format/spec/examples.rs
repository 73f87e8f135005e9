//! The worked examples of streams, permutations, designs, codes, blocks, sequences and keys.

use simidx::design::{COVERING_6, COVERING_8, COVERING_11, COVERING_14, Permutation, TableDesign};
use simidx::{Codec, Width};

use simidx_testkit::document::{
    named_block, named_formulas, named_table, named_values, numbers, plain_number, row,
    specification,
};
use simidx_testkit::encoding::{self, Bits, Coding};
use simidx_testkit::forged::{ByHand, codec_number};
use simidx_testkit::strings::StringCode;

/// The bits that a text of `0` and `1` prints, spaces left out.
fn printed_bits(text: &str) -> Bits {
    let digits = text.chars().filter(|c| *c != ' ');
    digits.map(|c| c.to_digit(2).unwrap() == 1).collect()
}

/// The code lengths of the example of section 6.
fn example_lengths() -> Vec<u8> {
    let values = named_values(&specification(), "huffman-stream-example");
    let lengths = numbers(&values["lengths"]).into_iter();
    lengths.map(|length| length.try_into().unwrap()).collect()
}

/// The values that the program reads from a block of this stream, after a block whose key is `before`, by the code
/// of section 6.
fn read_block(codec: Codec, before: Option<u128>, stream: &Bits, values: &[u128]) -> Vec<u128> {
    let first = before.map(|key| [key]);
    let mut blocks: Vec<&[u128]> = first.iter().map(|key| &key[..]).collect();
    blocks.push(&values[values.len() - 1..]);
    let mut file = ByHand::new(codec, &blocks);
    if codec != Codec::EliasFano {
        file.lengths = example_lengths();
        file.lengths.resize(64, 0);
    }
    file.replace(blocks.len() - 1, values.len(), stream);
    let last = blocks.len() - 1;
    blocks[last] = values;
    file.count(&blocks);
    let index = simidx_testkit::open::<u64>(file.file());
    let report = index.verify(&Default::default()).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    let fingerprints = index.fingerprints(0).unwrap().skip(blocks.len() - 1);
    fingerprints.map(|f| f.unwrap().into()).collect()
}

#[test]
fn the_example_of_a_bit_stream_is_that_of_the_plain_encoder() {
    let values = named_values(&specification(), "bit-stream-example");
    let mut bits = Bits::new();
    for (value, len) in numbers(&values["numbers"])
        .into_iter()
        .zip(numbers(&values["bits"]))
    {
        bits.extend(encoding::bits_of(value, len as u32));
    }
    assert_eq!(printed_bits(&values["stream"]), bits);
    assert_eq!(values["bytes"], hex(&encoding::filled(bits)));
}

#[test]
fn the_example_of_a_permutation_is_that_of_the_program() {
    let values = named_values(&specification(), "permutation-example");
    let value = |name: &str| plain_number(&values[name]) as u32;
    assert_eq!(value("f"), u32::BITS);
    let permutation = Permutation::new(value("M"));
    assert_eq!(permutation.prefix_bits(), value("p"));
    assert_eq!(permutation.apply(value("x")).0, value("apply(x)"));
}

#[test]
fn the_huffman_example_is_what_the_program_reads() {
    let text = specification();
    let lengths = example_lengths();
    let mut codewords = vec![Bits::new(); lengths.len()];
    for row in named_table(&text, "huffman-example") {
        let codeword = printed_bits(&row[2]);
        assert_eq!(row[1], codeword.len().to_string(), "{row:?}");
        codewords[row[0].parse::<usize>().unwrap()] = codeword;
    }
    assert_eq!(codewords, encoding::codewords(&lengths));

    let values = named_values(&text, "huffman-stream-example");
    let (symbols, printed) = (numbers(&values["symbols"]), &values["stream"]);
    assert_eq!(
        values["bytes"],
        hex(&encoding::filled(printed_bits(printed)))
    );
    let words: Vec<Bits> = printed.split(' ').map(printed_bits).collect();
    assert_eq!(symbols, [4, 0, 2, 3]);
    for (&symbol, word) in symbols.iter().zip(&words) {
        assert_eq!(*word, codewords[symbol as usize]);
    }
    // A block whose values differ in the bits 4, 0, 2, 3 from one to the next, with these tails, and then the key.
    let mut stream = Bits::new();
    for (word, tail) in words.iter().zip(["0000", "", "10", "111"]) {
        stream.extend_from_bitslice(word);
        stream.extend_from_bitslice(&printed_bits(tail));
    }
    let values = [0b10000, 0b10001, 0b10110, 0b11111, 0b11_0000].map(|low| 0x8000_0000 | low);
    let read = read_block(Codec::Xor, Some(0x8000_0000), &stream, &values);
    assert_eq!(read, values);
}

/// Bytes as the specification prints them.
fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

#[test]
fn the_block_examples_are_what_the_program_reads() {
    let text = specification();
    let printed = named_values(&text, "block-values");
    let (values, key) = (
        numbers(&printed["values"]),
        plain_number(&printed["before"]),
    );
    assert_eq!(values.len(), 4);
    for (marker, codec, before) in [
        ("block-example", Codec::Xor, None),
        ("block-example-xor", Codec::Xor, Some(key)),
        ("block-example-gap", Codec::Gap, Some(key)),
        ("block-example-ef", Codec::EliasFano, Some(key)),
    ] {
        let mut stream = printed_bits(&named_block(&text, marker).concat());
        let mut lengths = example_lengths();
        if codec == Codec::EliasFano {
            lengths.fill(0);
        }
        let coding = Coding::new(codec_number(codec), &lengths, 32);
        assert_eq!(coding.stream(before, &values), stream, "{marker}");
        if before.is_none() {
            let printed = named_block(&text, "block-example-bytes").concat();
            let block = encoding::block(values.len(), &stream, 128, (0, 0));
            let bytes = hex(&block[4..]);
            assert!(bytes.starts_with(&printed), "{bytes}");
            // The program reads it in a table of 64 bits, with a first value of so many.
            stream = printed_bits(&format!("{:032b}", 0))
                .into_iter()
                .chain(stream)
                .collect();
        }
        assert_eq!(
            read_block(codec, before, &stream, &values),
            values,
            "{marker}"
        );
    }
}

/// The example and the steps that it shows, by the definitions above it.
#[test]
fn the_elias_fano_example_is_right() {
    let values = named_values(&specification(), "elias-fano-example");
    let value = |name: &str| plain_number(&values[name]);
    let list = |name: &str| numbers(&values[name]);
    let (set, max, count, low_bits) = (list("numbers"), value("Z"), value("c"), value("l"));
    let stream = printed_bits(&values["stream"]);
    assert_eq!(stream, encoding::elias_fano(&set, max));
    assert_eq!(value("stream length"), stream.len() as u128);
    assert_eq!(count, set.len() as u128);

    let products = list("c·2^l");
    assert!(
        products
            .iter()
            .zip(0..)
            .all(|(product, l)| *product == count << l)
    );
    assert!(products[low_bits as usize] <= max && products[low_bits as usize + 1] > max);
    let bucket_count = (max >> low_bits) + 1;
    assert_eq!(value("H"), bucket_count);
    let buckets: Vec<u128> = set.iter().map(|u| u >> low_bits).collect();
    assert_eq!(list("intervals"), buckets);
    let low = set.iter().map(|u| u & ((1 << low_bits) - 1));
    assert!(low.eq(list("low bits")));
    let high = buckets.iter().zip(0..).map(|(bucket, i)| bucket + i);
    assert!(high.eq(list("high bits set")));
    let empty = (0..bucket_count).filter(|bucket| !buckets.contains(bucket));
    assert!(empty.eq(list("empty")));
}

#[test]
fn the_keys_example_is_what_the_program_reads() {
    let text = specification();
    let values = named_values(&text, "keys-example");
    let (keys, offsets) = (numbers(&values["keys"]), numbers(&values["numbers"]));
    assert_eq!(keys[..keys.len() - 1], offsets);
    let max = plain_number(&values["Z"]);
    let stream = printed_bits(&values["stream"]);
    assert_eq!(stream, encoding::elias_fano(&offsets, max));
    let (groups, entries) = encoding::key_sections(&keys, 32, 0);
    assert_eq!(values["bytes"], hex(&groups));
    assert_eq!(values["entry"].replace("  ", " "), hex(&entries));
    assert_eq!(
        plain_number(&values["CRC-32"]),
        encoding::crc32(&groups).into()
    );
    let variable = |name: &'static str| (name, plain_number(&values[name]) as usize);
    let variables = [variable("c"), variable("l"), variable("H")];
    let formulas = named_block(&text, "keys-lengths")
        .concat()
        .replace("  if c ≥ 1, else 0", "");
    assert!(formulas.contains("⌈(c + H + c·l) / 8⌉"));
    let len = named_formulas(&text, "keys-lengths").value("group_len", &variables);
    assert_eq!(groups.len(), len);
    // A table of 64 bits has the same key group.
    let file = ByHand::new(Codec::Gap, &[&keys[..1], &keys[1..2], &keys[2..]]);
    assert_eq!(file.keys.0, groups);
    let index = simidx_testkit::open::<u64>(file.file());
    let read: Vec<u128> = index
        .fingerprints(0)
        .unwrap()
        .map(|f| f.unwrap().into())
        .collect();
    assert_eq!(read, keys);
}

#[test]
fn the_example_of_a_block_has_the_checksum_printed() {
    let text = specification();
    let printed = named_values(&text, "block-example-checksum");
    let start = named_block(&text, "block-example-bytes").concat();
    let digits = start
        .split(' ')
        .map(|byte| u8::from_str_radix(byte, 16).unwrap());
    let mut bytes: Vec<u8> = digits.collect();
    bytes.resize(124, 0);
    let value = |name: &str| plain_number(&printed[name]) as u32;
    assert_eq!(value("CRC-32"), encoding::crc32(&bytes));
    assert_eq!(value("place(1, 0, 0)"), encoding::place(1, 0, 0));
    assert_eq!(value("checksum"), encoding::bound_checksum(&bytes, 1, 0, 0));
}

#[test]
fn the_metadata_example_is_what_the_program_writes() {
    let mut options = simidx::BuildOptions::default();
    options.metadata.insert("source", "né").unwrap();
    let file = simidx_testkit::build::<u64>(options, &[]);
    let layout = encoding::Layout::parse(&file);
    let printed = named_block(&specification(), "metadata-example").concat();
    assert_eq!(printed, hex(layout.bytes(&file, encoding::METADATA, 0)));
}

#[test]
fn the_head_of_the_sketches_is_what_the_program_writes() {
    let mut options = simidx::BuildOptions::default();
    let parameters = simidx::format::SketchParameters::new(64, "words:3 html:no");
    options.sketches = Some(parameters.unwrap());
    let file = simidx_testkit::build_sketched(options, &[(1_u64, None), (2, None)]);
    let layout = encoding::Layout::parse(&file);
    let printed = named_block(&specification(), "sketches-example").join(" ");
    let head = &layout.bytes(&file, encoding::SKETCHES, 0)[..64];
    assert_eq!(printed_bytes(&printed), head[..33]);
    assert_eq!(head[33..], [0; 31]);
}

/// The bytes that are printed in hexadecimal.
fn printed_bytes(text: &str) -> Vec<u8> {
    let digits = text.split_whitespace();
    let bytes = digits.map(|byte| u8::from_str_radix(byte, 16));
    bytes.collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_example_of_a_bucket_is_right() {
    let text = specification();
    let mut section = vec![0; 128];
    (section[63], section[65], section[127]) = (1, 2, 2);
    section.extend(printed_bytes(
        &named_block(&text, "string-code-bytes").join(" "),
    ));
    let code = StringCode::parse(&section);
    let lines = named_block(&text, "string-bucket-example");
    let bytes = lines.iter().find_map(|line| line.strip_prefix("bytes"));
    let bytes = printed_bytes(bytes.expect("the bytes are printed"));
    let ids = code.decode(b"", &bytes, 4);
    assert_eq!(ids, [&b"ab"[..], b"abc", b"abd", b"b"]);
    let of_lines = lines.iter().filter_map(|line| line.split_once(' '));
    let names: Vec<&[u8]> = of_lines.take(4).map(|(id, _)| id.as_bytes()).collect();
    assert_eq!(ids, names);
}

#[test]
fn the_designs_have_the_tables_prefixes_and_flips_printed() {
    let covering = |covering| TableDesign::covering(Width::W64, covering).unwrap();
    let bands = |bands| TableDesign::partition(Width::W64, 3, bands).unwrap();
    let choices = |bands| TableDesign::choose_bands(Width::W64, 3, bands).unwrap();
    let known = [
        ("1 band", bands(1)),
        ("2 bands", bands(2)),
        ("3 bands", bands(3)),
        ("4 bands", bands(4)),
        ("choices of 5 bands", choices(5)),
        ("choices of 6 bands", choices(6)),
        (
            "two levels",
            TableDesign::two_level_bands(Width::W64, 3).unwrap(),
        ),
        ("covering of 6", covering(&COVERING_6)),
        ("covering of 8", covering(&COVERING_8)),
        ("covering of 11", covering(&COVERING_11)),
        ("covering of 14", covering(&COVERING_14)),
    ];
    let rows = named_table(&specification(), "designs");
    assert_eq!(rows.len(), known.len());
    for (name, design) in known {
        let row = row(&rows, name);
        assert_eq!(
            plain_number(&row[1]),
            design.table_count() as u128,
            "{name}"
        );
        assert_eq!(
            plain_number(&row[2]),
            design.min_prefix_bits().into(),
            "{name}"
        );
        let mut flips = numbers(&row[3]);
        if flips.len() == 1 {
            flips.resize(design.table_count(), flips[0]);
        }
        assert!(is_complete(&design, &flips), "{name}");
        // With one flip less in any table that has some, a pair would be missed.
        for (table, _) in flips.iter().enumerate().filter(|(_, flips)| **flips > 0) {
            let mut fewer = flips.clone();
            fewer[table] -= 1;
            assert!(!is_complete(&design, &fewer), "{name}: {fewer:?}");
        }
    }
}

/// Whether every three bits meet the mask of some table in no more bits than it has flips.
fn is_complete(design: &TableDesign, flips: &[u128]) -> bool {
    let finds = |bits: u128| {
        let mut tables = design.masks().iter().zip(flips);
        tables.any(|(mask, flips)| u128::from((mask & bits).count_ones()) <= *flips)
    };
    let bit = |place: u32| 1u128 << place;
    let mut all = (0..64).flat_map(|a| (0..a).flat_map(move |b| (0..b).map(move |c| (a, b, c))));
    all.all(|(a, b, c)| finds(bit(a) | bit(b) | bit(c)))
}
