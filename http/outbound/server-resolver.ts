/**
 * Resolves names by the machine's name servers, as programs on this machine do: names of the hosts file
 * first, then by the rules of `resolv.conf` (`search`, `ndots`).
 *
 * It avoids `getaddrinfo`, which would block one of the few libuv threads that the stores need, for as long
 * as a foreign name server takes. Both files are read for each look-up, so other name servers are used as
 * soon as the machine has them.
 */
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';

const searchMax = 6;
/** This name does not exist: one made with the next search domain may. */
const absences: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'ESERVFAIL']);

/** Creates a function that resolves to all addresses of a name, or rejects. */
export const createServerResolver =
  (timeLimitMs: number) =>
  async (hostname: string): Promise<readonly string[]> => {
    const [hosts, settings] = await Promise.all([readLines('/etc/hosts'), readLines('/etc/resolv.conf')]);
    const known = hosts.filter(([, ...names]) => names.includes(hostname)).map(([address = '']) => address);
    if (known.length > 0) return known;
    // The one after a server that is silent has its share of the time.
    const servers = settings.filter(([word]) => word === 'nameserver').length;
    const timeout = Math.ceil(timeLimitMs / Math.min(Math.max(servers, 1), 3));
    const resolver = new Resolver({ timeout, tries: 1 });
    let failure: unknown;
    for (const name of listNames(hostname, settings)) {
      try {
        return await query(resolver, name);
      } catch (error) {
        failure = error;
        if (!absences.has((error as NodeJS.ErrnoException).code)) break;
      }
    }
    throw failure;
  };

const query = async (resolver: Resolver, name: string): Promise<readonly string[]> => {
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
  return [four, six].flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
};

type Lines = readonly (readonly string[])[];

/** The words of each line, in lower case; none where there is no such file. */
const readLines = async (file: string): Promise<Lines> => {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .trim()
      .toLowerCase()
      .split(/\s+/),
  );
};

/** What to look up, in this order: a name with `ndots` dots as it is first, any other one last. */
const listNames = (hostname: string, settings: Lines): readonly string[] => {
  if (hostname.endsWith('.')) return [hostname];
  const [, ...domains] = settings.findLast(([word]) => word === 'search' || word === 'domain') ?? [];
  const options = settings.flatMap(([word, ...rest]) => (word === 'options' ? rest : []));
  const ndots = Number(
    /^ndots:(\d+)$/.exec(options.findLast((option) => option.startsWith('ndots:')) ?? '')?.[1] ?? 1,
  );
  const searched = domains.slice(0, searchMax).map((domain) => `${hostname}.${domain}`);
  const isAsItIs = hostname.split('.').length > ndots;
  return isAsItIs ? [hostname, ...searched] : [...searched, hostname];
};
