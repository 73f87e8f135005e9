// Records of 64 bytes that are ordered by a number: the chunks of groups, and lines.

import { viewOf } from "./bits.js";
import { PAGE_LENGTH } from "./reader.js";

const RECORD_LENGTH = 64;
const PAGE_RECORDS = PAGE_LENGTH / RECORD_LENGTH;

/**
 * The last of `count` records from `first` on whose number is at most `wanted`, or one less than `first`. It looks at
 * the page of the guess, then at its neighbour, then it halves what is left.
 */
export async function lastRecordAtMost(reads, section, numberOf, first, count, wanted, guess) {
    let low = first - 1;
    let high = first + count;
    for (let tries = 0; high - low > 1; tries++) {
        const [lowest, highest] = [Math.floor((low + 1) / PAGE_RECORDS), Math.floor((high - 1) / PAGE_RECORDS)];
        const middle = Math.floor((lowest + highest) / 2);
        const wish = tries === 0 ? Math.floor(guess / PAGE_RECORDS) : middle;
        const page = Math.max(lowest, Math.min(highest, tries === 1 && low >= first ? lowest : wish));
        const view = viewOf(await reads.page(section, page));
        const end = Math.min(high, (page + 1) * PAGE_RECORDS);
        for (let i = Math.max(low + 1, page * PAGE_RECORDS); i < end; i++) {
            if (numberOf(view, (i % PAGE_RECORDS) * RECORD_LENGTH) > wanted) {
                high = i;
                break;
            }
            low = i;
        }
    }
    return low;
}
