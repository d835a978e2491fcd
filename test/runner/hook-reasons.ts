/**
 * Makes uvu say why a hook threw. It drops the error (a `return` in a `finally`), and with it the rest of the
 * suite; the file of uvu that does so is given a `catch` before it as it is loaded. Another version of uvu is
 * loaded as it is, and test/runner.test.ts fails. Called by preload.ts in every test process.
 */
import { type LoadFnOutput, type LoadHookContext, registerHooks } from 'node:module';

const where = '\t} finally {\n\t\tstate.__test__ = ';
const told = "format('a hook', err instanceof Error ? err : new Error(String(err)), name)";
/** At once: a hook after it may throw, too, when what was to be opened is not there. */
const telling = `\t} catch (err) {\n\t\twrite('\\n' + ${told});\n\t\terrors += '\\n';\n`;

type Next = (url: string, context?: Partial<LoadHookContext>) => LoadFnOutput;

export const tellHookReasons = (): void => {
  registerHooks({
    load: (url: string, context: LoadHookContext, next: Next): LoadFnOutput => {
      const loaded = next(url, context);
      if (!url.endsWith('/uvu/dist/index.mjs')) return loaded;
      const { source } = loaded;
      const text = typeof source === 'string' ? source : Buffer.from(source as Uint8Array).toString('utf8');
      return { ...loaded, source: text.replace(where, `${telling}${where}`) };
    },
  });
};
