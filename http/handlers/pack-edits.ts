/**
 * Creates, changes and deletes packs for clients. The key of a pack is its url in lower case.
 */
import { DomainError } from '../../engine/errors.ts';
import type { PackOutcome, PackRequest } from '../../storage/catalogue/packs/pack-edits.ts';
import { createValidationError } from '../response/validation-error.ts';
import { type App, noContent, type Reply, replyOk } from '../route.ts';
import type { Seo } from '../schema/common.ts';
import type { PackBody, PackEditBody } from '../schema/pack-edits.ts';
import { createLimitError, createNotFoundError } from './convert.ts';
import { notifyAfterCommit } from './notify-after-commit.ts';

const emptyPackMessage = 'must contain a bot or a server: a pack cannot be empty';
const createEmptyPackError = (): DomainError =>
  createValidationError('body', { '/bots': emptyPackMessage, '/servers': emptyPackMessage });

/** Throws `validation_failed` for a new pack without bots and servers. */
export const checkPackBody = (body: PackBody): void => {
  if ((body.bots ?? []).length + (body.servers ?? []).length === 0) throw createEmptyPackError();
};

const createUnknownEntitiesError = (bots: readonly string[], servers: readonly string[]): DomainError => {
  const context: Record<string, string> = {};
  if (bots.length > 0) context['/bots'] = `there is no bot ${bots.join(', ')}`;
  if (servers.length > 0) context['/servers'] = `there is no server ${servers.join(', ')}`;
  return createValidationError('body', context);
};

const toPackError = (outcome: Exclude<PackOutcome, { kind: 'done' }>, ownedMax: number): DomainError => {
  switch (outcome.kind) {
    case 'unknown':
      return createUnknownEntitiesError(outcome.bots, outcome.servers);
    case 'taken':
      return new DomainError('already_exists', 'There is already a pack with this url.', {
        '/url': 'is taken',
      });
    case 'limit_reached':
      return createLimitError(
        `You have ${ownedMax} packs, which is the maximum. Delete one first.`,
        ownedMax,
      );
    case 'not_found':
      return createNotFoundError('pack');
    case 'not_owner':
      return new DomainError('forbidden', 'Only the owner of a pack may change or delete it.');
    case 'would_be_empty':
      return createEmptyPackError();
  }
};

const toPackReply = (app: App, outcome: PackOutcome): Reply => {
  if (outcome.kind !== 'done') throw toPackError(outcome, app.settings.packsPerUserMax);
  return noContent;
};

/** `PUT /users/{id}/packs`. *Ledger* when it resolves. */
export const createPack = async (app: App, userId: string, body: PackBody): Promise<Reply> =>
  toPackReply(
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

const toPackRequest = (params: { readonly uid: string; readonly id: string }): PackRequest => ({
  userId: params.uid,
  url: params.id.toLowerCase(),
});

/** `PATCH /users/{uid}/packs/{id}`: absent fields keep their value. *Ledger* when it resolves. */
export const editPack = async (
  app: App,
  params: { readonly uid: string; readonly id: string },
  body: PackEditBody,
): Promise<Reply> =>
  toPackReply(
    app,
    await app.catalogue.packs.edits.edit(toPackRequest(params), {
      name: body.name ?? null,
      short: body.short ?? null,
      tags: body.tags ?? null,
      bots: body.bots ?? null,
      servers: body.servers ?? null,
    }),
  );

/** `DELETE /users/{uid}/packs/{id}`. When it resolves, the pack is gone on every node. */
export const deletePack = async (
  app: App,
  params: { readonly uid: string; readonly id: string },
): Promise<Reply> => {
  const request = toPackRequest(params);
  await app.engine.waitForFlush('pack', request.url);
  const reply = toPackReply(app, await app.catalogue.packs.edits.remove(request));
  await notifyAfterCommit(app.engine.deliverAdjustments('pack', request.url));
  return reply;
};

/** `GET /packs/{id}/seo`: finds the pack by url, else by name. */
export const showPackSeo = async (app: App, urlOrName: string): Promise<Reply> => {
  const pack = await app.catalogue.packs.summary(urlOrName);
  if (pack === null) throw createNotFoundError('pack');
  return replyOk<Seo>({ avatar: '', id: pack.url, name: pack.name, short: pack.short });
};
