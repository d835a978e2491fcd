/**
 * Guards of origins and flags of votes, each with its patch.
 *
 * What a mutant is: mutant.ts.
 */
import type { Mutant } from './mutant.ts';

const counter = 'ops/jobs/vote-counter.ts';
const flags = 'storage/ledger/vote-flags.ts';
const origin = 'engine/rules/vote-origin.ts';
const flagsTest = 'test/ops/jobs/vote-flags.test.ts';

const counterMutants: readonly Mutant[] = [
  {
    name: 'votes of a shared address are compared with those of all',
    file: counter,
    find: 'return isFarMore(votes, expectedShare * ofAddress * Math.min(1, ofOthers));',
    replace: 'return true;',
    why: 'SQL would read the day of each school and each mobile network again and again',
  },
  {
    name: 'new accounts are compared with what is usual',
    file: counter,
    find: 'if (isYoung && isFarMore(young, (expectedShare * votes * all.young) / all.votes)) return true;',
    replace: 'if (isYoung) return true;',
    why: 'SQL would read the day of each shared address of a young directory',
  },
  {
    name: 'new accounts of a popular listing stand out',
    file: counter,
    find: 'const isYoung = young >= flagRules.listingAccountsMin && 2 * young >= votes;',
    replace: 'const isYoung = false;',
    why: 'a farm of new accounts behind a shared address would never be judged',
  },
  {
    name: 'equal intervals stand out',
    file: counter,
    find: 'if (isRegular(pair)) return true;',
    replace: '',
    why: 'a machine behind a shared address would never be judged',
  },
  {
    name: 'a pair is judged again as it grows',
    file: counter,
    find: 'if (votes < pair.dueAtVotes) return;',
    replace: 'if (pair.dueAtVotes > 0) return;',
    why: 'figures would stay those of the fifth vote',
  },
  {
    name: 'votes of a pair with flags are marked',
    file: counter,
    find: 'const flags = ofPair | ',
    replace: 'const flags = ',
    why: 'a plan by flags would leave the newest votes of a farm',
  },
  {
    name: 'a pair that is judged and not found loses its flags',
    file: counter,
    find: '?? []) pair.flags = 0;',
    replace: '?? []);',
    why: 'votes of an honest address would be marked for as long as it votes',
  },
  {
    name: 'counts are halved',
    file: counter,
    find: 'if (counts.halved !== halved) halve(counts);',
    replace: '',
    why: 'the votes of weeks would be judged as those of a day, and memory would grow',
  },
  {
    name: 'what failed is due again',
    file: counter,
    find: 'for (const address of work.addresses) addDue(counts.dueAddresses, packHash(address));',
    replace: '',
    why: 'a failing statement would hide a farm',
  },
];

const flagMutants: readonly Mutant[] = [
  {
    name: 'an address with most votes is compared with nothing',
    file: flags,
    find: 'when is_comparable and ',
    replace: 'when ',
    killers: [flagsTest],
    why: 'behind a proxy that is not trusted all votes of small listings would be flagged',
  },
  {
    name: 'one account is no cluster',
    file: flags,
    find: 'having count(distinct author) >= ',
    replace: 'having count(*) >= ',
    killers: [flagsTest],
    why: 'one voter who votes each time they may would be flagged',
  },
  {
    name: 'a pair is compared with the votes of others on the listing',
    file: flags,
    find: "and ${isMore(sql, ['accounts', 'expected'])}",
    replace: '',
    killers: [flagsTest],
    why: 'honest voters who share an address would be flagged',
  },
  {
    name: 'a surge is one against the own past',
    file: flags,
    find: `\${flagRules.surgeFactor} * mean)`,
    replace: '0)',
    killers: [flagsTest],
    why: 'each popular listing would have a surge in each hour',
  },
];

const originMutants: readonly Mutant[] = [
  {
    name: 'each month has a key of its own',
    file: origin,
    find: `deriveSecret(secret, \`vote origins \${month}\`)`,
    replace: 'deriveSecret(secret, "vote origins")',
    why: 'an address could be followed for as long as origins are there',
  },
  {
    name: 'hashes of votes are not those of visitors',
    file: origin,
    find: `createVisitorHasher(deriveSecret(secret, \`vote origins \${month}\`))`,
    replace: 'createVisitorHasher(secret)',
    why: 'who reads the hot store could tell which pages a voter has seen',
  },
  {
    name: 'an IPv6 network is a /48',
    file: origin,
    find: '[0, 1, 2].map(',
    replace: '[0, 1, 2, 3].map(',
    why: 'a farm would have 65,536 networks from one provider',
  },
];

export const voteMutants: readonly Mutant[] = [...counterMutants, ...flagMutants, ...originMutants];
