/**
 * The choice of a media type by `Accept`: weights, ranges, upper case.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chooseMediaType } from '../../../http/request/call.ts';

const test = suite('accept');
const offered = ['application/json', 'text/csv'] as const;
const [json, csv] = offered;

for (const [accept, chosen] of [
  ['', json],
  ['*/*', json],
  ['text/csv', csv],
  ['TEXT/CSV', csv],
  ['text/*', csv],
  ['text/csv, application/json', json],
  ['text/csv, */*', csv],
  ['text/csv;q=0', json],
  ['text/csv;q=0, */*', json],
  ['text/csv;q=0.0, application/xml', json],
  ['application/json;q=0.5, text/csv;q=0.6', csv],
  ['application/json;q=0.5, text/csv; Q=0.499', json],
  ['application/json;q=0, */*', csv],
  ['text/csv;charset=utf-8;q=0.3, application/json;q=0.2', csv],
  ['*/*;q=0.1, text/*;q=0.2', csv],
  ['image/png', json],
  [',;,q=,', json],
] as const) {
  test(`${JSON.stringify(accept)} → ${chosen}`, () => {
    assert.is(chooseMediaType(accept, [...offered]), chosen);
  });
}

test('a browser gets HTML, other programs get JSON', () => {
  const choose = (accept: string) => chooseMediaType(accept, ['application/json', 'text/html']);

  assert.is(choose('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'), 'text/html');
  assert.is(choose('text/html;q=0, */*'), 'application/json');
  assert.is(choose('application/json, text/plain, */*'), 'application/json');
});

test.run();
