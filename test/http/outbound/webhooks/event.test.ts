/**
 * The id of an event: fixed by the vote and the endpoint, so that no attempt and no node ever gives another.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { toEventId } from '../../../../http/outbound/webhooks/stored-event.ts';

const test = suite('webhook event');
const itag = '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a15';
const endpointId = '0190d2a4-5b7c-7c11-8f3e-6a1d2c3b4e5f';

test('the id is the UUID of version 5 of the vote in the namespace of the endpoint', () => {
  // Computed with another implementation: Python's uuid.uuid5.
  assert.is(toEventId(itag, endpointId), '7ca78cf3-aef0-5a13-9e3a-39c1b3c0fc49');
});

test('another vote or another endpoint has another id', () => {
  const ids = [
    toEventId(itag, endpointId),
    toEventId(endpointId, itag),
    toEventId(itag, '0190d2a4-5b7c-7c11-8f3e-6a1d2c3b4e60'),
  ];

  assert.is(new Set(ids).size, ids.length);
});

test.run();
