/**
 * Addresses of Postgres: the password in them, and one or several hosts.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  addParameter,
  addPassword,
  findAddressMistake,
  readPlace,
  splitPassword,
} from '../../../storage/sql/address.ts';

const test = suite('addresses of Postgres');

for (const [whole, address, password] of [
  [
    'postgres://rollcall:pa%2Fss@db:5432/x?sslmode=require',
    'postgres://rollcall@db:5432/x?sslmode=require',
    'pa/ss',
  ],
  ['postgres://rollcall:secret@a:1,b:2/x', 'postgres://rollcall@a:1,b:2/x', 'secret'],
  ['postgresql://rollcall:p:q@r@[::1]:5432/x', 'postgresql://rollcall@[::1]:5432/x', 'p:q@r'],
  ['postgres://rollcall@db/x?options=-c%20a=b@c', 'postgres://rollcall@db/x?options=-c%20a=b@c', ''],
  ['postgres:///x?host=/run/postgresql', 'postgres:///x?host=/run/postgresql', ''],
] as const) {
  test(`${whole} without its password, and with it again`, () => {
    assert.equal(splitPassword(whole), { address, password });

    assert.equal(splitPassword(addPassword(address, password)), { address, password });
    assert.is(addPassword(whole, ''), whole);
    if (password !== '') assert.is(addPassword(whole, 'another'), whole);
  });
}

for (const [address, host, port] of [
  ['postgres://rollcall@[::1]/x', ['::1'], [5432]],
  ['postgres://rollcall:p%40@[2001:db8::7]:6432/x?options=-c%20a=[b]', ['2001:db8::7'], [6432]],
  ['postgres://[::1]:1,db,[::2]:3', ['::1', 'db', '::2'], [1, 5432, 3]],
  ['postgres://rollcall@a:1,b:2/x?options=[b]', ['a', 'b'], [1, 2]],
  ['postgres:///x?host=a,b&port=1,2', ['a', 'b'], [1, 2]],
  ['postgres:///x?host=a,b&port=7', ['a', 'b'], [7, 7]],
  ['postgres://u@%2Frun%2Fpostgresql/x', ['/run/postgresql'], [5432]],
  ['postgres://u@%2Frun%2Fpostgresql:7/x', ['/run/postgresql'], [7]],
  ['postgres://u@/x?host=/run/postgresql', ['/run/postgresql'], [5432]],
  ['postgres:///x', undefined, undefined],
] as const) {
  test(`${address} → ${host ?? 'left to the driver'}`, () => {
    const { options } = readPlace(address) as { options: { host?: string[]; port?: number[] } };

    assert.equal([options.host, options.port], [host, port]);
  });
}

for (const [query, sentence] of [
  ['service=x', /^service is not supported/],
  ['host=a&passfile=/x', /^passfile is not supported/],
  ['hostaddr=10.0.0.1', /^hostaddr is not supported/],
  ['password=x', /before the @/],
  ['host=a,b&target_session_attrs=standby', /write read-write or primary/],
  ['host=/run,b', /folder of sockets/],
] as const) {
  test(`?${query} is refused with a sentence`, () => {
    assert.match(findAddressMistake(`postgres:///x?${query}`) ?? '', sentence);
  });
}

test('what Rollcall supports is no mistake', () => {
  for (const query of ['', '?host=a,b&target_session_attrs=read-write', '?target_session_attrs=any&jit=off'])
    assert.is(findAddressMistake(`postgres://u@c/x${query}`), null);
});

test('a parameter is added with its characters encoded, unless the address has it', () => {
  const add = (address: string, value?: string) => addParameter(address, 'sslmode', value);

  assert.is(add('postgres://a/x', 'a b&c'), 'postgres://a/x?sslmode=a%20b%26c');
  assert.is(add('postgres://a/x?jit=off', 'require'), 'postgres://a/x?jit=off&sslmode=require');
  for (const whole of ['postgres://a/x?sslmode=disable', 'postgres://a/x?jit=off&sslmode=disable'])
    assert.is(add(whole, 'require'), whole);
  assert.is(add('postgres://a/x'), 'postgres://a/x');
});

test.run();
