/**
 * The program that far-receivers.fault.ts runs in a network of its own: calls to a host that takes a second
 * to accept a connection, whose name has other addresses as well. Prints its figures as JSON.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Type } from 'typebox';
import * as assert from 'uvu/assert';
import { fetchJson } from '../../../http/outbound/fetch-json.ts';
import { createWebhookSender } from '../../../http/outbound/webhooks/send.ts';
import { makeFolder } from '../../support/folder.ts';
import { raiseIsland } from '../../support/island.ts';
import { issueCertificate } from '../../support/webhook-receivers.ts';

const [securePort, plainPort, ownPort] = [8443, 8080, 8081];
const timeLimitMs = 8_000;
/** Before the host is there, and so until the next packet after that. */
const absentMs = 600;

const island = await raiseIsland();
const authority = await issueCertificate({ name: 'authority of the test' });
const { key, cert } = await issueCertificate({ name: 'far.example.org', issuer: authority });
const files = makeFolder('rollcall-far-');
writeFileSync(join(files, 'certificate.json'), JSON.stringify({ key, cert }));
const script = `
  const answer = (request, response) => request.resume().on('end', () => response.end('{"id":"one"}'));
  const certificate = JSON.parse(require('fs').readFileSync('${join(files, 'certificate.json')}', 'utf8'));
  require('https').createServer(certificate, answer).listen(${securePort}, '0.0.0.0');
  require('http').createServer(answer).listen(${plainPort}, '0.0.0.0', () => console.log('ready'));`;
const [enter = '', ...words] = island.through;
const receiver = spawn(enter, [...words, process.execPath, '-e', script], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
process.once('exit', () => {
  receiver.kill('SIGKILL');
  island.dispose();
});
await once(receiver.stdout, 'data');
const own = createServer((_, response) => response.end('{"id":"one"}'));
own.listen(ownPort, '::1');
await once(own, 'listening');

const onIsland = (...command: string[]) => execFileSync(enter, [...words, 'ip', ...command]);
/** Takes the host away, begins to call it, and brings it back: the kernel's next packet reaches it. */
const callLate = async <Result>(call: () => Promise<Result>): Promise<Result & { milliseconds: number }> => {
  onIsland('address', 'delete', `${island.there}/24`, 'dev', 'cable-end');
  execFileSync('ip', ['neighbour', 'flush', 'dev', 'cable']);
  const startedMs = performance.now();
  const called = call();
  await pause(absentMs);
  onIsland('address', 'add', `${island.there}/24`, 'dev', 'cable-end');
  return { ...(await called), milliseconds: Math.round(performance.now() - startedMs) };
};

const sender = createWebhookSender({
  addresses: 'any',
  timeoutMs: timeLimitMs,
  keepMs: 0,
  ca: authority.cert,
});
const post = async (url: string) => {
  const connection = sender.open(url);
  const outcome = await connection.post({ 'content-type': 'application/json' }, '{}');
  connection.close();
  return outcome;
};
const ask = (url: string) =>
  fetchJson(Type.Object({ id: Type.String() }), { url, timeLimitMs, answerBytesMax: 1_000 });

const lateMs: number[] = [];
for (const url of [`https://far.example.org:${securePort}/`, `http://far.example.org:${plainPort}/`]) {
  const posted = await callLate(() => post(url));
  assert.equal([posted.status, posted.detail], [200, ''], url);
  lateMs.push(posted.milliseconds);
}
const fetched = await callLate(() => ask(`http://far.example.org:${plainPort}/`));
assert.is(fetched.kind, 'ok', JSON.stringify(fetched));
lateMs.push(fetched.milliseconds);
for (const milliseconds of lateMs) assert.ok(milliseconds >= absentMs, 'the host was there too early');

// Nobody has the first address of this name, and the second is there at once.
const startedMs = performance.now();
assert.is((await post(`http://silent.example.org:${plainPort}/`)).status, 200);
const besideSilentMs = Math.round(performance.now() - startedMs);
assert.ok(besideSilentMs < timeLimitMs / 4, `${besideSilentMs} ms`);

assert.is((await post(`http://six.example.org:${ownPort}/`)).status, 200);
assert.is((await ask(`http://six.example.org:${ownPort}/`)).kind, 'ok');

console.log(JSON.stringify({ slowestMs: Math.max(...lateMs), besideSilentMs }));
process.exit();
