//! The worked examples of streams, permutations, designs, codes, blocks, sequences and keys.

use simidx::design::{COVERING_6, COVERING_8, COVERING_11, COVERING_14, Permutation, TableDesign};
use simidx::{Codec, Index};

use simidx_testkit::document::{after_marker, between, plain_number, specification};
use simidx_testkit::forged::{ByHand, codec_number};
use simidx_testkit::reference::{self, Bits, Coding};

fn numbers(list: &str) -> Vec<u8> {
    list.split(", ").map(|n| n.parse().unwrap()).collect()
}

/// The bits that a text of `0` and `1` prints, spaces left out.
fn printed_bits(text: &str) -> Bits {
    let digits = text.chars().filter(|c| *c != ' ');
    digits.map(|c| c.to_digit(2).unwrap() == 1).collect()
}

/// The code lengths of the example of section 6.
fn example_lengths(text: &str) -> Vec<u8> {
    let lengths = numbers(between(text, "Lengths of the symbols 0 … 4: ", ". "));
    assert_eq!(lengths.len(), 5);
    lengths
}

/// The values that the program reads from a block of this stream, behind a block whose key is `before`, by the code
/// of section 6.
fn read_block(codec: Codec, before: Option<u128>, stream: &Bits, values: &[u128]) -> Vec<u128> {
    let first = before.map(|key| [key]);
    let mut blocks: Vec<&[u128]> = first.iter().map(|key| &key[..]).collect();
    blocks.push(&values[values.len() - 1..]);
    let mut file = ByHand::new(codec, &blocks);
    if codec != Codec::EliasFano {
        file.lengths = example_lengths(&specification());
        file.lengths.resize(64, 0);
    }
    file.replace(blocks.len() - 1, values.len(), stream);
    file.fingerprint_count = blocks.len() - 1 + values.len();
    let index = Index::<u64, _>::from_bytes(file.file()).unwrap();
    let report = index.verify();
    assert!(report.is_sound(), "{:?}", report.problems);
    let fingerprints = index.fingerprints(0).unwrap().skip(blocks.len() - 1);
    fingerprints.map(|f| f.unwrap().into()).collect()
}

#[test]
fn the_example_of_a_bit_stream_is_that_of_the_reference() {
    let text = specification();
    let sentence = between(&text, "Writing the ", " gives the stream");
    let stream = between(&text, " gives the stream\n`", "`");
    let mut bits = Bits::new();
    let numbers = sentence.replace(" and the ", ", the ");
    for number in numbers.split(", the ") {
        let (len, value) = number.split_once("-bit number ").unwrap();
        bits.extend(reference::bits_of(
            plain_number(value),
            len.parse().unwrap(),
        ));
    }
    let digits: String = bits
        .iter()
        .map(|bit| if *bit { '1' } else { '0' })
        .collect();
    assert_eq!(stream.replace(' ', ""), digits);
    let bytes = between(&text, "filled with zero bits, the bytes `", "`");
    assert_eq!(bytes, hex(&reference::filled(bits)));
}

#[test]
fn the_example_of_a_permutation_is_that_of_the_program() {
    let text = specification();
    let mask = plain_number(between(&text, "*Example* (f = 32): M = ", ","));
    let (value, permuted) = between(&text, ", apply(", ".\n")
        .split_once(") = ")
        .unwrap();
    let permutation = Permutation::new(mask as u32);
    let bits = between(&text, &format!("M = {mask:#010x}, p = "), ",");
    assert_eq!(plain_number(bits), permutation.prefix_bits().into());
    let applied = permutation.apply(plain_number(value) as u32);
    assert_eq!(plain_number(permuted), applied.0.into());
}

#[test]
fn the_huffman_example_is_what_the_program_reads() {
    let text = specification();
    let mut codewords = vec![Bits::new(); 5];
    for row in after_marker("huffman-example").iter().skip(2) {
        let cells: Vec<&str> = row.split('|').map(|c| c.trim().trim_matches('`')).collect();
        let codeword = printed_bits(cells[3]);
        assert_eq!(cells[2], codeword.len().to_string(), "{row}");
        codewords[cells[1].parse::<usize>().unwrap()] = codeword;
    }
    assert_eq!(codewords, reference::codewords(&example_lengths(&text)));

    let symbols = numbers(between(&text, "The symbols ", " are written as `"));
    let printed = between(&text, " are written as `", "`");
    let packed = between(&text, "filled with zero bits as the bytes `", "`");
    assert_eq!(packed, hex(&reference::filled(printed_bits(printed))));
    let words: Vec<Bits> = printed.split(' ').map(printed_bits).collect();
    assert_eq!(symbols, [4, 0, 2, 3]);
    for (&symbol, word) in symbols.iter().zip(&words) {
        assert_eq!(*word, codewords[usize::from(symbol)]);
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

/// A list of numbers in words: `1, 5, 6 and 14`.
fn list(text: &str) -> Vec<u128> {
    let numbers = text.replace(" and ", ", ");
    numbers
        .split(", ")
        .map(|number| match number.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16).unwrap(),
            None => number.parse().unwrap(),
        })
        .collect()
}

#[test]
fn the_block_examples_are_what_the_program_reads() {
    let text = specification();
    let sentence = between(
        &text,
        "block that holds the values ",
        " has the stream below",
    );
    let values = list(sentence);
    assert_eq!(values.len(), 4);
    for (marker, codec, before) in [
        ("block-example", Codec::Xor, None),
        ("block-example-xor", Codec::Xor, Some(0x8000_0000)),
        ("block-example-gap", Codec::Gap, Some(0x8000_0000)),
        ("block-example-ef", Codec::EliasFano, Some(0x8000_0000)),
    ] {
        let mut stream = printed_bits(&after_marker(marker).concat());
        let mut lengths = example_lengths(&text);
        if codec == Codec::EliasFano {
            lengths.fill(0);
        }
        let coding = Coding::new(codec_number(codec), &lengths, 32);
        assert_eq!(coding.stream(before, &values), stream, "{marker}");
        if before.is_none() {
            let printed = between(&text, "bytes of the block from 4 on are `", " …`");
            let block = reference::block(values.len(), &stream, 128);
            let bytes = hex(&block[4..]);
            assert!(bytes.starts_with(printed), "{bytes}");
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

#[test]
fn the_elias_fano_example_is_right() {
    let text = specification();
    let sentence = between(&text, "*Worked example.* The four numbers ", ": c·2^l");
    let (numbers, max) = sentence.split_once(" with Z = ").unwrap();
    let stream = printed_bits(&after_marker("elias-fano-example").concat());
    let encoded = reference::elias_fano(&list(numbers), max.parse().unwrap());
    assert_eq!(stream, encoded);
    let bits = between(&text, "are empty. The stream has ", " bits:");
    assert_eq!(bits, stream.len().to_string());
}

/// What the example says on the way, by the definitions above it.
#[test]
fn the_steps_of_the_elias_fano_example_are_right() {
    let text = specification().replace('\n', " ");
    let sentence = between(
        &text,
        "*Worked example.* The four numbers ",
        " The stream has ",
    );
    let (numbers, max) = sentence.split_once(" with Z = ").unwrap();
    let (numbers, max) = (list(numbers), plain_number(max.split(':').next().unwrap()));
    let count = numbers.len() as u128;
    let part = |before, after| between(sentence, before, after);

    let products = list(part("c·2^l is ", " for l = "));
    let exponents = list(part(" for l = ", ", so l = "));
    let expected: Vec<u128> = exponents.iter().map(|l| count << l).collect();
    assert_eq!(products, expected);
    let fitting = products.iter().filter(|product| **product <= max).count();
    let low_bits = plain_number(part(", so l = ", " and H"));
    assert_eq!(exponents[fitting - 1], low_bits);
    assert!(fitting < products.len(), "the next one is too large");
    let bucket_count = (max >> low_bits) + 1;
    assert_eq!(plain_number(part(" and H = ", ". Their")), bucket_count);

    let buckets: Vec<u128> = numbers.iter().map(|u| u >> low_bits).collect();
    assert_eq!(
        list(part("Their buckets are ", ", their low bits")),
        buckets
    );
    let low = numbers.iter().map(|u| u & ((1 << low_bits) - 1));
    assert_eq!(
        list(part("their low bits ", ". The high bits")),
        low.collect::<Vec<_>>()
    );
    let (set, high_bits) = part("The high bits ", " are set;")
        .split_once(" of ")
        .unwrap();
    let expected: Vec<u128> = buckets
        .iter()
        .zip(0..)
        .map(|(bucket, i)| bucket + i)
        .collect();
    assert_eq!(list(set), expected);
    assert_eq!(plain_number(high_bits), count + bucket_count);
    let empty = (0..bucket_count).filter(|bucket| !buckets.contains(bucket));
    let empty: Vec<String> = empty.map(|bucket| format!("bucket {bucket}")).collect();
    assert!(sentence.ends_with(&format!("{} are empty.", empty.join(" and "))));
}

#[test]
fn the_keys_example_is_what_the_program_reads() {
    let text = specification();
    let keys = list(between(
        &text,
        "(f = 32). The keys ",
        " are stored as the numbers",
    ));
    let printed = after_marker("keys-example").concat().replace("  ", " ");
    assert_eq!(printed, hex(&reference::keys_section(&keys, 32)));
    // A table of 64 bits has the same keys section, but for the zeros above the two ends.
    let file = ByHand::new(Codec::Gap, &[&keys[..1], &keys[1..2], &keys[2..]]);
    let index = Index::<u64, _>::from_bytes(file.file()).unwrap();
    let read: Vec<u128> = index
        .fingerprints(0)
        .unwrap()
        .map(|f| f.unwrap().into())
        .collect();
    assert_eq!(read, keys);
    assert_eq!(hex(&file.keys[16..]), printed[24..]);
}

#[test]
fn the_designs_have_the_tables_and_prefixes_printed() {
    let text = specification();
    let choices = between(&text, "k = 3 these are ", ").\n");
    for choice in choices.split(") or ") {
        let (sizes, bands) = choice.split_once(" bits (b = ").unwrap();
        let design = TableDesign::<u64>::choose_bands(3, bands.parse().unwrap()).unwrap();
        let sizes = sizes.replace(" tables", "");
        let expected = format!(
            "{} of at least {}",
            design.table_count(),
            design.min_prefix_bits()
        );
        assert_eq!(sizes, expected);
    }
    let coverings = between(&text, "k = 3 there are such of ", " bits.").replace('\n', " ");
    let (tables, prefixes) = coverings
        .split_once(" tables with prefixes of at least ")
        .unwrap();
    let known = [COVERING_6, COVERING_8, COVERING_11, COVERING_14];
    let designs = known.map(|covering| TableDesign::<u64>::covering(&covering).unwrap());
    assert_eq!(
        list(tables),
        designs
            .each_ref()
            .map(|design| design.table_count() as u128)
    );
    assert_eq!(
        list(prefixes),
        designs.map(|design| design.min_prefix_bits().into())
    );
}
