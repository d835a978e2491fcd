/**
 * A name server on loopback: it answers A and AAAA questions from a table, and NXDOMAIN for other names.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

const [noSuchName, typeA, typeAaaa, headerBytes] = [3, 1, 28, 12];

export interface NameServer {
  /** The names of the questions, each question once, in order. */
  readonly names: readonly string[];
  close(): void;
}

/** Starts it at port 53 of the address, which needs the right to. */
export const startNameServer = async (
  address: string,
  table: Readonly<Record<string, readonly string[]>>,
): Promise<NameServer> => {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  const names: string[] = [];
  socket.on('message', (question, from) => {
    const { name, end } = readName(question);
    if (names.at(-1) !== name) names.push(name);
    const type = question.readUInt16BE(end);
    const found = table[name]?.filter((one) => (isIPv6(one) ? typeAaaa : typeA) === type) ?? [];
    const header = Buffer.from(question.subarray(0, headerBytes));
    header.writeUInt16BE(0x8180 | (table[name] === undefined ? noSuchName : 0), 2);
    for (const [count, place] of [
      [1, 4],
      [found.length, 6],
      [0, 8],
      [0, 10],
    ] as const)
      header.writeUInt16BE(count, place);
    const answers = found.map((one) => toRecord(type, one));
    const parts = [header, question.subarray(headerBytes, end + 4), ...answers];
    socket.send(Buffer.concat(parts), from.port, from.address);
  });
  socket.bind(53, address);
  await once(socket, 'listening');
  return { names, close: () => void socket.close() };
};

const readName = (question: Buffer): { readonly name: string; readonly end: number } => {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += length + 1;
  }
  return { name: labels.join('.'), end: at + 1 };
};

/** A pointer to the name of the question, type, class, a minute, and the address. */
const toRecord = (type: number, address: string): Buffer => {
  const bytes = Buffer.from(ipaddr.parse(address).toByteArray());
  const start = Buffer.alloc(headerBytes);
  start.writeUInt16BE(0xc00c, 0);
  start.writeUInt16BE(type, 2);
  start.writeUInt16BE(1, 4);
  start.writeUInt32BE(60, 6);
  start.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([start, bytes]);
};
