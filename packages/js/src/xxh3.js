// XXH3 of 128 bits with seed 0, as of version 0.8 of xxHash.

import { viewOf } from "./bits.js";

const P32_1 = 0x9e3779b1n;
const P32_2 = 0x85ebca77n;
const P32_3 = 0xc2b2ae3dn;
const P64_1 = 0x9e3779b185ebca87n;
const P64_2 = 0xc2b2ae3d27d4eb4fn;
const P64_3 = 0x165667b19e3779f9n;
const P64_4 = 0x85ebca77c2b2ae63n;
const P64_5 = 0x27d4eb2f165667c5n;
const MIX_1 = 0x165667919e3779f9n;
const MIX_2 = 0x9fb21c651e98df25n;

const SECRET_DIGITS =
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221" +
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb" +
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e";
const SECRET = viewOf(Uint8Array.from(SECRET_DIGITS.match(/../g), (digits) => Number.parseInt(digits, 16)));
const SECRET_LENGTH = 192;
const STRIPE = 64;
const BLOCK_STRIPES = 16;

const wrap = (x) => BigInt.asUintN(64, x);
const read64 = (view, at) => view.getBigUint64(at, true);
const read32 = (view, at) => BigInt(view.getUint32(at, true));
const secret = (at) => read64(SECRET, at);
const low32 = (x) => x & 0xffffffffn;

/** The high and low half of a product, joined by exclusive or. */
function fold(x, y) {
    const product = x * y;
    return wrap(product) ^ (product >> 64n);
}

function avalanche(x) {
    const h = wrap((x ^ (x >> 37n)) * MIX_1);
    return h ^ (h >> 32n);
}

function avalancheOfXxh64(x) {
    let h = wrap((x ^ (x >> 33n)) * P64_2);
    h = wrap((h ^ (h >> 29n)) * P64_3);
    return h ^ (h >> 32n);
}

function swapped(x, bytes) {
    let result = 0n;
    for (let i = 0; i < bytes; i++) {
        result = (result << 8n) | ((x >> BigInt(8 * i)) & 0xffn);
    }
    return result;
}

function upTo3(view, length) {
    const [first, middle, last] = [0, length >> 1, length - 1].map((at) => BigInt(view.getUint8(at)));
    const low = (first << 16n) | (middle << 24n) | last | (BigInt(length) << 8n);
    const turned = swapped(low, 4) << 13n;
    const high = low32(turned) | (turned >> 32n);
    return [
        avalancheOfXxh64(low ^ read32(SECRET, 0) ^ read32(SECRET, 4)),
        avalancheOfXxh64(high ^ read32(SECRET, 8) ^ read32(SECRET, 12)),
    ];
}

function upTo8(view, length) {
    const both = read32(view, 0) + (read32(view, length - 4) << 32n);
    const product = (both ^ secret(16) ^ secret(24)) * (P64_1 + BigInt(length << 2));
    let low = wrap(product);
    const high = wrap((product >> 64n) + (low << 1n));
    low ^= high >> 3n;
    low = wrap((low ^ (low >> 35n)) * MIX_2);
    return [low ^ (low >> 28n), avalanche(high)];
}

function upTo16(view, length) {
    const last = read64(view, length - 8);
    const product = (read64(view, 0) ^ last ^ secret(32) ^ secret(40)) * P64_1;
    const keyed = last ^ secret(48) ^ secret(56);
    const low = wrap(product) + (BigInt(length - 1) << 54n);
    const high = wrap((product >> 64n) + keyed + low32(keyed) * (P32_2 - 1n));
    const second = (wrap(low) ^ swapped(high, 8)) * P64_2;
    return [avalanche(wrap(second)), avalanche(wrap((second >> 64n) + high * P64_2))];
}

function mix16(view, at, secretAt) {
    return fold(read64(view, at) ^ secret(secretAt), read64(view, at + 8) ^ secret(secretAt + 8));
}

/** Mixes 16 bytes at two places into both halves of a state. */
function mix32(state, view, first, second, secretAt) {
    const low = wrap(state[0] + mix16(view, first, secretAt));
    const high = wrap(state[1] + mix16(view, second, secretAt + 16));
    state[0] = low ^ wrap(read64(view, second) + read64(view, second + 8));
    state[1] = high ^ wrap(read64(view, first) + read64(view, first + 8));
}

function upTo240(view, length) {
    const state = [wrap(BigInt(length) * P64_1), 0n];
    if (length <= 128) {
        for (let i = (length - 1) >> 5; i >= 0; i--) {
            mix32(state, view, 16 * i, length - 16 * (i + 1), 32 * i);
        }
    } else {
        for (let at = 0; at < 128; at += 32) {
            mix32(state, view, at, at + 16, at);
        }
        state.forEach((half, i) => (state[i] = avalanche(half)));
        for (let at = 128; at + 32 <= length; at += 32) {
            mix32(state, view, at, at + 16, at - 125);
        }
        mix32(state, view, length - 16, length - 32, 103);
    }
    const [a, b] = state;
    const high = a * P64_1 + b * P64_4 + BigInt(length) * P64_2;
    return [avalanche(wrap(a + b)), wrap(-avalanche(wrap(high)))];
}

function accumulate(state, view, at, secretAt) {
    for (let i = 0; i < 8; i++) {
        const data = read64(view, at + 8 * i);
        const key = data ^ secret(secretAt + 8 * i);
        state[i ^ 1] = wrap(state[i ^ 1] + data);
        state[i] = wrap(state[i] + low32(key) * (key >> 32n));
    }
}

function merged(state, secretAt, start) {
    let sum = start;
    for (let i = 0; i < 8; i += 2) {
        sum += fold(state[i] ^ secret(secretAt + 8 * i), state[i + 1] ^ secret(secretAt + 8 * i + 8));
    }
    return avalanche(wrap(sum));
}

function long(view, length) {
    const state = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1];
    const stripes = Math.floor((length - 1) / STRIPE);
    for (let i = 0; i < stripes; i++) {
        accumulate(state, view, STRIPE * i, 8 * (i % BLOCK_STRIPES));
        if (i % BLOCK_STRIPES === BLOCK_STRIPES - 1) {
            state.forEach((lane, n) => {
                state[n] = wrap((lane ^ (lane >> 47n) ^ secret(SECRET_LENGTH - STRIPE + 8 * n)) * P32_1);
            });
        }
    }
    accumulate(state, view, length - STRIPE, SECRET_LENGTH - STRIPE - 7);
    const product = BigInt(length);
    return [
        merged(state, 11, wrap(product * P64_1)),
        merged(state, SECRET_LENGTH - STRIPE - 11, wrap(~(product * P64_2))),
    ];
}

/** The hash of bytes as [low 64 bits, high 64 bits]. */
export function xxh3(bytes) {
    const view = viewOf(bytes);
    const { length } = bytes;
    if (length === 0) {
        return [avalancheOfXxh64(secret(64) ^ secret(72)), avalancheOfXxh64(secret(80) ^ secret(88))];
    }
    const lengths = [
        [3, upTo3],
        [8, upTo8],
        [16, upTo16],
        [240, upTo240],
        [Infinity, long],
    ];
    return lengths.find(([most]) => length <= most)[1](view, length);
}
