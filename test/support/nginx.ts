/**
 * An nginx of the test's own, running the shipped configuration on a free port of 127.0.0.1.
 *
 * The sample is a file for an installed nginx. What belongs to a machine (port, node, folder of the cache) is
 * put in here, and around it what an installed nginx has. Uses the system's program (installed on Debian as
 * root, else it throws what to install). Ends with the test.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './folder.ts';
import { findFolder, findOrInstallProgram } from './needed-program.ts';
import { type ProxyProgram, startProxy } from './proxy-program.ts';

const sample = join(import.meta.dirname, '../../ops/deploy/nginx/rollcall.conf');

export interface NginxOptions {
  readonly port: number;
  readonly nodePort: number;
  /** Changes the sample, to show what a line of it is for. */
  readonly change?: (text: string) => string;
}
export interface Nginx extends ProxyProgram {
  /** What `nginx -t` says of it; `''` when it finds nothing. */
  readonly complaints: string;
}

const find = (): string | null => findFolder('nginx', ['/usr/sbin', '/usr/local/sbin']);

/** The program. Throws what to install when it is missing. */
export const findNginx = (): string => {
  const advice = 'Install nginx 1.18 or later (Debian: apt-get install nginx; macOS: brew install nginx).';
  return join(findOrInstallProgram({ name: 'nginx', debianPackage: 'nginx', find, advice }), 'nginx');
};

/** One process, so that it ends with a signal. Nothing is written but below `folder`. */
const around = (folder: string, server: string): string => {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr warn;
events { worker_connections 512; }
http {
access_log off;
${temporary.join('\n')}
${server}
}
`;
};

const rendered = (folder: string, { port, nodePort, change = (text) => text }: NginxOptions): string => {
  let text = readFileSync(sample, 'utf8');
  for (const [placed, put] of [
    ['listen 8000;', `listen 127.0.0.1:${port};`],
    ['server 127.0.0.1:8080 ', `server 127.0.0.1:${nodePort} `],
    ['proxy_cache_path /var/cache/rollcall-nginx ', `proxy_cache_path ${folder}/cache `],
  ] as const) {
    if (text.split(placed).length !== 2) throw new Error(`${sample} has "${placed}" not once`);
    text = text.replace(placed, put);
  }
  return around(folder, change(text));
};

/** Runs `nginx -t` as an installed nginx does. */
const check = (folder: string, text: string): { readonly words: string[]; readonly complaints: string } => {
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, text);
  const words = ['-p', folder, '-e', 'stderr', '-c', file];
  const { status, stderr } = spawnSync(findNginx(), [...words, '-t'], { encoding: 'utf8' });
  return { words, complaints: status === 0 && !/\[(warn|error|emerg)\]/.test(stderr) ? '' : stderr };
};

/** What `nginx -t` says of the sample as it is; `''` when it finds nothing. Makes its folder of the cache. */
export const checkSample = (): string => {
  const folder = makeFolder('rollcall-nginx-');
  return check(folder, around(folder, readFileSync(sample, 'utf8'))).complaints;
};

/** Starts it with the sample; resolves when its port is open. */
export const startNginx = async (options: NginxOptions): Promise<Nginx> => {
  const folder = makeFolder('rollcall-nginx-');
  mkdirSync(join(folder, 'cache'));
  const { words, complaints } = check(folder, rendered(folder, options));
  const running = await startProxy([findNginx(), ...words], {}, options.port);
  return { complaints, dispose: running.dispose };
};
