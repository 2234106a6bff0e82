// Package taskset codes sets of numbers from 0 to 2^31-1 in few bytes: contiguous ranges and round-robin choices, which balanced
// groups are made of, in a handful whatever their size, and random choices close to the bound that information theory sets.
//
// # The model
//
// A [Set] is its smallest number and the gaps between neighbours, equal gaps in a row told once: {10, 11, 12, 13, 20} is 10, then
// three times 1, then once 7. There are eight ways to write one down, its forms. p is the smallest number, n how many there are:
//
//	form            bytes                                                             cheapest for
//	0 single        p                                                                 one number
//	1 run           p, n-2                                                            p, p+1, ..
//	2 stride        p, step-2, n-2                                                    p, p+step, ..: round robin
//	3 runs          p, runs-2, length-1, then for each further run gap-2, length-1    a run with holes
//	4 strided runs  step-2, then like 3 with (number-p)/step for every number         round robin with holes
//	5 gaps          bits: see below                                                   a random choice
//	6 bitmap        p, span-2, then a bit for each number between p and the last      a dense random choice
//	7 strided bits  step-2, then like 6 with (number-p)/step for every number         the same of a round robin
//
// A number is an unsigned LEB128 varint. span is the last number (of form 7: its quotient) less the first. step is the smallest gap
// between neighbours, where it divides all gaps; else the strided forms cannot hold the set. Bits fill each byte from its lowest
// bit, and a last byte is filled with zeros. Form 5 in bits: n-1 in Elias' gamma code (as many zeros as it has bits below its
// highest, a one, those bits), k (5 bits), the number of bits of p (5) and p without its highest one; then every gap between
// neighbours less 1 in Rice's code (its quotient by 2^k in zeros, a one, its remainder in k bits), with the k that gives the fewest
// bits, and of several the smallest. On a random set that is within 2 or 3 % of the information bound.
//
// The form is not among the bytes: three bits of it are kept by whoever keeps the set, where there is room for them.
//
// A set has one encoding. Of the forms that can hold it the one that takes fewest bytes is used, of several the one that comes first in
// the table, and [Read] takes no other: equal sets are equal bytes, and what is read and written again has not changed. For that a
// reader plans each set once more, at O(gaps).
//
// # A worked example
//
// {3, 12, 20, 37, 41} is 3 and the gaps 9, 8, 17, 4. It is no run and no stride; as runs it takes 11 bytes (five of one number each), as a
// bitmap 7. Form 5 takes the bits, each byte's lowest first,
//
//	00 1 00    n-1 = 4 in gamma: two zeros, a one, the two bits below the highest
//	01000      k = 2
//	01000 1    3 has two bits, of which the lower one is told
//	001 00     9-1 = 8 = 2 x 4 + 0
//	01 11      8-1 = 7 = 1 x 4 + 3
//	00001 00   17-1 = 16 = 4 x 4 + 0
//	1 11       4-1 = 3 = 0 x 4 + 3
//
// and five zeros to fill the last byte, 5 bytes in all: 44 88 c4 21 07. It is the example of testdata/encoding/sets.hex too.
//
// # What it costs
//
// Planning takes O(gaps), where a run or a stride is one gap whatever its length; writing and reading take O(bytes + gaps). A set of
// a few bytes may stand for a great many numbers, so [Read] counts them before anything is made of them, and a caller that allocates
// for each number bounds that count first.
//
// # The road not taken
//
// Roaring bitmaps and Elias-Fano answer queries, which nobody asks of these, and take more for runs with a stride. A range coder
// would save the last 2 or 3 % and its reader takes several times as long. The greatest common divisor of the gaps would find a step
// for a few more sets than the smallest gap does, but takes several divisions a gap on every random one.
package taskset
