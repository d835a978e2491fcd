/**
 * Libraries of other directories as their registries have them, with the lines changed that
 * docs/bots/libraries.md names, and a Rollcall with COMPAT=on behind TLS, where they send to.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compatRoutes } from '../../http/api/compat.ts';
import { routes } from '../../http/api/table.ts';
import { openWorld, type World } from '../http/api/world.ts';
import { addBot, addUser } from '../storage/catalogue/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { close, listen } from '../support/loopback.ts';
import { issueCertificate } from '../support/webhook-receivers.ts';

const run = promisify(execFile);
const section = readFileSync(new URL('../../docs/bots/libraries.md', import.meta.url), 'utf8');

/** The entry for BotBlock, as the page has it. */
const entry = /```json\n([\s\S]*?)```/.exec(section)?.[1] ?? '';

interface ChangedLine {
  readonly library: string;
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

const listChangedLines = (): readonly ChangedLine[] =>
  section
    .split('\n')
    .map((row) => row.split('|').map((cell) => /`([^`]+)`/.exec(cell)?.[1] ?? ''))
    .filter((cells) => cells.length === 6 && cells[2] !== '')
    .map(([, library = '', file = '', before = '', after = '']) => ({ library, file, before, after }));

export interface Directory {
  readonly world: World;
  /** Host and port, over TLS. */
  readonly host: string;
  /** What programs need to trust it. */
  readonly trust: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const openFront = async (world: World, folder: string): Promise<{ front: Server; host: string }> => {
  const certificate = await issueCertificate({ name: 'localhost' });
  writeFileSync(join(folder, 'certificate.pem'), certificate.cert);
  const state = { host: '' };
  const files: Readonly<Record<string, () => string>> = {
    '/botblock/lists?filter=true': () => entry.replaceAll('listing.example', state.host),
    '/botblock/legacy-ids': () => '{}',
  };
  const front = createServer(certificate, (incoming, outgoing) => {
    const { method, headers, url = '' } = incoming;
    const file = files[url];
    if (file !== undefined) {
      outgoing.end(file());
      return;
    }
    const passed = request({ host: '127.0.0.1', port: world.port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.statusMessage, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  state.host = `localhost:${await listen(front)}`;
  return { front, host: state.host };
};

export const ann = '100000000000000001';
export const ben = '100000000000000002';
/** Ann as the libraries show a voter. */
export const voter = { id: ann, username: `name-of-${ann}`, avatar: `https://a.example/${ann}` };

/** A directory with the users ann, who voted for every bot, and ben. */
export const openDirectory = async (): Promise<Directory> => {
  const world = await openWorld({ routes: [...routes, ...compatRoutes] });
  const folder = makeFolder('rollcall-front-');
  const { front, host } = await openFront(world, folder);
  for (const user of ['robin', ann, ben]) await addUser(world.sql, user);
  const certificate = join(folder, 'certificate.pem');
  return {
    world,
    host,
    trust: { NODE_EXTRA_CA_CERTS: certificate, SSL_CERT_FILE: certificate },
    close: async () => {
      await close(front);
      await world.close();
    },
  };
};

/** A bot that ann voted for. Resolves to its token. */
export const createBot = async ({ world }: Directory, id: string): Promise<string> => {
  await addBot(world.sql, id);
  const token = await world.token('user', ann);
  await world.ask('PUT', `/users/${ann}/bots/${id}/votes?upvote=true`, { token });
  return world.token('bot', id);
};

export const showBot = async ({ world }: Directory, id: string): Promise<readonly unknown[]> => {
  const { json } = await world.ask('GET', `/bots/${id}`);
  return [json.servers, json.users, json.shards];
};

/** Changes the lines of the guide in the installed libraries. Returns how many. */
export const changeLines = (
  folder: string,
  { host, libraries }: { readonly host: string; readonly libraries: readonly string[] },
): number => {
  const lines = listChangedLines().filter(({ library }) => libraries.includes(library));
  const [name = '', port] = host.split(':');
  for (const { library, file, before, after } of lines) {
    const path = join(folder, file.endsWith('.py') ? '' : library, file);
    const text = readFileSync(path, 'utf8');
    if (text.split(before).length < 2) throw new Error(`${path} does not have ${before}`);
    const isName = before.startsWith('hostname');
    const changed = isName ? `hostname: '${name}', port: ${port}` : after.replace('listing.example', host);
    writeFileSync(path, text.replaceAll(before, changed));
  }
  return lines.length;
};

/** Runs a program there; resolves to what it printed as JSON, rejects with what it printed when it fails. */
export const runProgram = async (
  command: readonly [program: string, ...args: string[]],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<ReturnType<typeof JSON.parse>> => {
  const [program, ...args] = command;
  const options = { cwd, env: { ...process.env, ...env }, timeout: 60_000 };
  const { stdout } = await run(program, args, options).catch((error) => {
    throw new Error(`${error.stdout}${error.stderr}${error.message}`);
  });
  return JSON.parse(stdout);
};
