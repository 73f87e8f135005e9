// The bit orders of tables (section 5 of the format specification).

/** Moves the bits of a mask to the top of a value, and those of others below them. */
export class Permutation {
    constructor(mask, width) {
        // Each move takes consecutive bits from a place in the fingerprint to one in the permuted value.
        this.moves = [];
        let to = 0;
        for (const isInMask of [false, true]) {
            for (let from = 0; from < width;) {
                let end = from;
                while (end < width && ((mask >> BigInt(end)) & 1n) === (isInMask ? 1n : 0n)) {
                    end++;
                }
                if (end > from) {
                    this.moves.push({ from: BigInt(from), to: BigInt(to), bits: (1n << BigInt(end - from)) - 1n });
                    to += end - from;
                }
                from = Math.max(end, from + 1);
            }
        }
    }

    /** The permuted value of a fingerprint. */
    apply(fingerprint) {
        return this.moves.reduce((value, { from, to, bits }) => value | (((fingerprint >> from) & bits) << to), 0n);
    }

    /** The fingerprint of a permuted value. */
    invert(value) {
        return this.moves.reduce((found, { from, to, bits }) => found | (((value >> to) & bits) << from), 0n);
    }
}
