/**
 * Every form in which clients send a token, and every contradiction between headers.
 *
 * Pure functions by table; what a token may do is tested in dispatch.test.ts.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DomainError } from '../../../engine/errors.ts';
import { parseTokenHeaders } from '../../../http/auth/authorise.ts';
import { RequestHeaders, takeHeader } from '../../../http/server/wire.ts';

const test = suite('auth headers');

/** `lines` as they are sent, one header each. */
const read = (...lines: readonly string[]) => {
  const headers = new RequestHeaders();
  for (const line of lines) {
    const [name = '', value = ''] = line.split(': ');
    takeHeader(headers, name, value);
  }
  return parseTokenHeaders(headers);
};

const forms: readonly [string, readonly string[], string, string | null][] = [
  ['no header', [], '', null],
  ['kind word', ['authorization: Bot abc'], 'abc', 'bot'],
  ['kind word in capitals', ['authorization: BOT abc'], 'abc', 'bot'],
  ['kind word in small letters', ['authorization: user abc'], 'abc', 'user'],
  ['two spaces', ['authorization: Team   abc '], 'abc', 'team'],
  ['bare', ['authorization: abc'], 'abc', null],
  ['own header', ['user-auth: abc'], 'abc', 'user'],
  ['own header with kind word', ['server-auth: Server abc'], 'abc', 'server'],
  ['team header', ['team-auth: Team abc'], 'abc', 'team'],
  ['bot header', ['bot-auth: abc'], 'abc', 'bot'],
  ['two headers that agree', ['authorization: abc', 'bot-auth: Bot abc'], 'abc', 'bot'],
  ['the same header twice, equal', ['authorization: abc', 'authorization: abc'], 'abc', null],
  ['an unknown word is part of the token', ['authorization: Bearer abc'], 'Bearer abc', null],
  [
    'a word that every object has is part of the token',
    ['authorization: constructor abc'],
    'constructor abc',
    null,
  ],
  ['a kind word alone is a token', ['authorization: Bot'], 'Bot', null],
];
for (const [name, lines, token, claim] of forms) {
  test(`${name} is read`, () => {
    assert.equal(read(...lines), { token, claimedKind: claim });
  });
}

const thrice = ['authorization: a', 'authorization: b', 'authorization: a'];
const contradictions: readonly [string, readonly string[], string][] = [
  ['two tokens', ['authorization: abc', 'bot-auth: def'], 'tokens_disagree'],
  ['two own headers', ['user-auth: abc', 'team-auth: def'], 'tokens_disagree'],
  ['one header twice', ['authorization: abc', 'authorization: def'], 'tokens_disagree'],
  ['one header three times', thrice, 'tokens_disagree'],
  ['a letter beyond ASCII', ['authorization: Bot abcé'], 'token_invalid'],
  ['a blank beyond ASCII behind the kind word', ['user-auth: User \u00a0abc'], 'token_invalid'],
  ['a blank beyond ASCII at the end', ['team-auth: abc\u3000'], 'token_invalid'],
  ['a byte-order mark', ['authorization: \ufeffabc'], 'token_invalid'],
  ['a byte that is not UTF-8', ['authorization: abc', 'server-auth: a\ufffdbc'], 'token_invalid'],
  ['a header and another kind word', ['user-auth: Bot abc'], 'token_kind_unsupported'],
  ['two headers of two kinds', ['user-auth: abc', 'bot-auth: abc'], 'token_kind_unsupported'],
];
for (const [name, lines, code] of contradictions) {
  test(`${name} → 401 ${code}`, () => {
    assert.throws(
      () => read(...lines),
      (error: unknown) => error instanceof DomainError && error.code === code,
    );
  });
}

test.run();
