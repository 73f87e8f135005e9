// Plans: which tables a query looks into, and where (section 11 of the format specification).

import { bitLength, distanceOf } from "./bits.js";

/** Most probes of a plan. */
const MOST_PROBES = 4096;

/** Most steps of a proof that a plan is complete. */
const MOST_STEPS = 20000;

/** What a probe costs, in values that are read one after the other. */
const PROBE_COST = 64;

/** Tables above this number are not left out one by one. */
const MOST_TABLES_TO_REDUCE = 64;

/** A_t: the fingerprint bits that become the highest ones, as a list. */
function addressBitsOf(mask, width, bits) {
    const order = [];
    for (const isInMask of [1n, 0n]) {
        for (let bit = width - 1; bit >= 0; bit--) {
            if (((mask >> BigInt(bit)) & 1n) === isInMask) {
                order.push(bit);
            }
        }
    }
    return order.slice(0, bits);
}

/**
 * Whether for each set of at most `distance` bits some table t has at most `flips` of them in its address bits; false
 * also if that takes too long to prove. A table with -1 flips is skipped.
 *
 * @param tables list of `{mask, bits, flips}`
 */
export function isComplete(tables, width, distance) {
    // Bits that are in the same sets are alike.
    const classes = new Map();
    const memberships = Array.from({ length: width }, () => []);
    tables.forEach(({ mask, bits }, t) => {
        addressBitsOf(mask, width, bits).forEach((bit) => memberships[bit].push(t));
    });
    for (const members of memberships) {
        const key = members.join();
        const entry = classes.get(key) ?? { members, free: 0 };
        entry.free++;
        classes.set(key, entry);
    }
    const all = [...classes.values()];
    // How many bits of the set are still missing until a table does not hold it.
    const missing = tables.map(({ flips }) => flips + 1);
    let steps = 0;

    /** Whether a set that violates the plan has the bits chosen so far and at most `left` more. */
    function isViolated(left) {
        steps++;
        const t = missing.findIndex((count) => count > 0);
        if (t < 0 || steps > MOST_STEPS) {
            return true;
        }
        if (missing.some((count) => count > left)) {
            return false;
        }
        // A violating set has a further bit in the address bits of t. Those that were tried are not tried again.
        const tried = [];
        let found = false;
        for (const entry of all.filter(({ members, free }) => free > 0 && members.includes(t))) {
            entry.free--;
            entry.members.forEach((member) => missing[member]--);
            found = isViolated(left - 1);
            entry.members.forEach((member) => missing[member]++);
            tried.push([entry, entry.free + 1]);
            entry.free = 0;
            if (found) {
                break;
            }
        }
        tried.forEach(([entry, free]) => (entry.free = free));
        return found;
    }

    return !isViolated(Math.min(distance, width));
}

/** Number of patterns of at most `flips` ones in `bits` bits. */
function patternCount(bits, flips) {
    let [sum, term] = [0, 1];
    for (let i = 0; i <= flips && i <= bits; i++) {
        sum += term;
        term = (term * (bits - i)) / (i + 1);
    }
    return sum;
}

/** All sets of at most `flips` of the `bits` highest bits of a value of `width` bits. */
export function* patterns(width, bits, flips, from = 0) {
    yield 0n;
    for (let bit = from; flips > 0 && bit < bits; bit++) {
        for (const rest of patterns(width, bits, flips - 1, bit + 1)) {
            yield rest | (1n << BigInt(width - 1 - bit));
        }
    }
}

/**
 * A complete plan: list of `{table, bits, flips}`. If none is known that is cheaper than a scan of table 0, it is that
 * scan.
 *
 * @param tables the tables of the file, with their prefix masks
 * @param count number of values of each table
 */
export function planOf(tables, width, distance, count) {
    const scan = [{ table: tables[0], bits: 0, flips: 0 }];
    // More address bits than this hold apart what is apart already. Those of lines cost nothing to look at.
    const useful = bitLength(count);
    const costOf = ({ bits, flips }) => patternCount(bits, flips) * (PROBE_COST + count / 2 ** bits);
    for (let flips = 0; flips <= distance; flips++) {
        const plan = tables.map((table) => {
            const bits = Math.min(distanceOf(table.mask, 0n), Math.max(useful, table.addressBits));
            return { table, mask: table.mask, bits, flips };
        });
        if (plan.some(({ bits }) => patternCount(bits, flips) > MOST_PROBES)) {
            return scan;
        }
        if (isComplete(plan, width, distance)) {
            reduce(plan, () => isComplete(plan, width, distance));
            const used = plan.filter((part) => part.flips >= 0);
            const probes = used.reduce((sum, part) => sum + patternCount(part.bits, part.flips), 0);
            const cost = used.reduce((sum, part) => sum + costOf(part), 0);
            return probes <= MOST_PROBES && cost < count ? used : scan;
        }
    }
    return scan;
}

/** Takes flips from the tables of a plan as long as it stays complete; table 0, which has ranks, comes last. */
function reduce(plan, isEnough) {
    if (plan.length > MOST_TABLES_TO_REDUCE) {
        return;
    }
    for (let t = plan.length - 1; t >= 0; t--) {
        const part = plan[t];
        const flips = part.flips;
        for (part.flips = -1; part.flips < flips && !isEnough();) {
            part.flips++;
        }
    }
}
