/**
 * A receiver of webhooks over TLS that answers 204 and knows when requests arrived.
 *
 * A program of its own, started by the webhooks command; prints the address of its control listener. Times
 * are of the wall clock, ms, so that another process of the same machine can compare them. It keeps bodies
 * only on request, because parsing would cost more than receiving.
 */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import selfsigned from 'selfsigned';

/** What the control listener answers. */
export interface Receipts {
  readonly port: number;
  readonly count: number;
  /** Different events; the others are repeats. */
  readonly events: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly kept: readonly { readonly body: string; readonly atMs: number }[];
}

const wallMs = (): number => performance.timeOrigin + performance.now();

const main = async (caFile: string): Promise<void> => {
  const pems = await selfsigned.generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  });
  writeFileSync(caFile, pems.cert);
  let [count, firstMs, lastMs, keeps] = [0, 0, 0, false];
  let kept: Receipts['kept'][number][] = [];
  const ids = new Set<unknown>();
  const receiver = createTlsServer({ key: pems.private, cert: pems.cert }, (request, response) => {
    const atMs = wallMs();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.writeHead(204).end();
      if (count++ === 0) firstMs = atMs;
      lastMs = wallMs();
      ids.add(request.headers['webhook-id']);
      if (keeps) kept.push({ body: Buffer.concat(chunks).toString(), atMs });
    });
  });
  receiver.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  const control = createServer((request, response) => {
    const receipts: Receipts = { port, count, events: ids.size, firstMs, lastMs, kept };
    // `/reset` begins again, `/reset?keep` keeps bodies from then on.
    if (request.url?.startsWith('/reset')) {
      [count, firstMs, lastMs, kept] = [0, 0, 0, []];
      ids.clear();
      keeps = request.url.endsWith('keep');
    }
    response.end(JSON.stringify(receipts));
  });
  control.listen(0, '127.0.0.1', () => {
    console.log(`Address http://127.0.0.1:${(control.address() as AddressInfo).port}`);
  });
};

process.on('SIGTERM', () => process.exit(0));
await main(process.env.CA_FILE ?? '');
