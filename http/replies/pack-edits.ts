/**
 * Packs as clients make, change and delete them. A pack's key is its url in lower case.
 */
import { DomainError } from '../../engine/errors.ts';
import type { PackOutcome, PackRequest } from '../../storage/catalogue/pack-edits.ts';
import { invalid } from '../invalid.ts';
import { type App, noContent, ok, type Reply } from '../route.ts';
import type { Seo } from '../schema/common.ts';
import type { PackBody, PackEditBody } from '../schema/pack-edits.ts';
import { afterwards } from './afterwards.ts';
import { notFound } from './values.ts';

const emptyWords = 'must name a bot or a server: a pack cannot be empty';
const emptyPack = (): DomainError => invalid('body', { '/bots': emptyWords, '/servers': emptyWords });

/** Throws `validation_failed` for a new pack of nothing. */
export const checkPackBody = (body: PackBody): void => {
  if ((body.bots ?? []).length + (body.servers ?? []).length === 0) throw emptyPack();
};

const unknownWords = (bots: readonly string[], servers: readonly string[]): DomainError => {
  const context: Record<string, string> = {};
  if (bots.length > 0) context['/bots'] = `there is no bot ${bots.join(', ')}`;
  if (servers.length > 0) context['/servers'] = `there is no server ${servers.join(', ')}`;
  return invalid('body', context);
};

const refusal = (outcome: Exclude<PackOutcome, { kind: 'done' }>, ownedMax: number): DomainError => {
  switch (outcome.kind) {
    case 'unknown':
      return unknownWords(outcome.bots, outcome.servers);
    case 'taken':
      return new DomainError('already_exists', 'There is a pack with this url already.', {
        '/url': 'is taken',
      });
    case 'limit_reached':
      return new DomainError('limit_reached', `You have ${ownedMax} packs, which is the most.`, {
        limit: String(ownedMax),
      });
    case 'not_found':
      return notFound('pack');
    case 'not_owner':
      return new DomainError('forbidden', 'Only its owner may do this to a pack.');
    case 'would_be_empty':
      return emptyPack();
  }
};

const settled = (app: App, outcome: PackOutcome): Reply => {
  if (outcome.kind !== 'done') throw refusal(outcome, app.settings.packsPerUserMax);
  return noContent;
};

/** `PUT /users/{id}/packs`. */
export const createPack = async (app: App, userId: string, body: PackBody): Promise<Reply> =>
  settled(
    app,
    await app.catalogue.packs.edits.create(
      { userId, url: body.url.toLowerCase() },
      {
        name: body.name,
        short: body.short,
        tags: body.tags,
        bots: body.bots ?? [],
        servers: body.servers ?? [],
      },
      app.settings.packsPerUserMax,
    ),
  );

const requestOf = (params: { readonly uid: string; readonly id: string }): PackRequest => ({
  userId: params.uid,
  url: params.id.toLowerCase(),
});

/** `PATCH /users/{uid}/packs/{id}`: absent fields stay as they are. */
export const editPack = async (
  app: App,
  params: { readonly uid: string; readonly id: string },
  body: PackEditBody,
): Promise<Reply> =>
  settled(
    app,
    await app.catalogue.packs.edits.edit(requestOf(params), {
      name: body.name ?? null,
      short: body.short ?? null,
      tags: body.tags ?? null,
      bots: body.bots ?? null,
      servers: body.servers ?? null,
    }),
  );

/** `DELETE /users/{uid}/packs/{id}`: the pack is unknown everywhere when this resolves. */
export const deletePack = async (
  app: App,
  params: { readonly uid: string; readonly id: string },
): Promise<Reply> => {
  const request = requestOf(params);
  await app.engine.flushed('pack', request.url);
  const reply = settled(app, await app.catalogue.packs.edits.remove(request));
  await afterwards(app.engine.deliver('pack', request.url));
  return reply;
};

/** `GET /packs/{id}/seo`: by url, else by name. */
export const showPackSeo = async (app: App, word: string): Promise<Reply> => {
  const pack = await app.catalogue.packs.summary(word);
  if (pack === null) throw notFound('pack');
  const seo: Seo = { avatar: '', id: pack.url, name: pack.name, short: pack.short };
  return ok(seo);
};
