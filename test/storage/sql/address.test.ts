/**
 * Addresses of Postgres: the password in them, and one or several hosts.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addPassword, splitPassword } from '../../../storage/sql/address.ts';

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

test.run();
