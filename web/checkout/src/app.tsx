import type { PageView } from '@eligo/contract';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Authentication } from './authentication.tsx';
import { CancelOrder } from './cancel-order.tsx';
import { Cart } from './cart.tsx';
import { framesId } from './document.ts';
import { InvoiceDocuments } from './invoice-documents.tsx';
import { LetterForm } from './letter-form.tsx';
import { Notice } from './notice.tsx';
import { Outcome } from './outcome.tsx';
import { isInvoicePage } from './page-api.ts';
import { PayForm } from './pay-form.tsx';
import { PromoCode } from './promo-code.tsx';
import { Refused, refusalOf } from './refused.tsx';
import { strings as allStrings, type Language, preferredLanguage, stringsOf } from './strings.ts';
import { showShopColors } from './theme.ts';
import { useCheckout } from './use-checkout.ts';

/** A payment that takes longer than this is said to. */
const longAfterMs = 4_000;

export function App() {
  const [language, setLanguage] = useState<Language>(preferredLanguage);
  const checkout = useCheckout();
  const strings = stringsOf(language, checkout.view, isInvoicePage);
  const { view, phase, refusal } = checkout;
  const isLong = useAfter(phase === 'idle' ? undefined : longAfterMs);
  const working = isLong ? strings.stillWorking : strings.working;
  const isOpen = view?.state === 'open';
  // The shop may have something to say: then the shopper reads it here for as long as they like, and leaves by the button.
  const leaving =
    checkout.hasPaid &&
    view?.state === 'complete' &&
    view.success_url !== null &&
    !view.custom_text?.after_submit.message;

  // Frames that the form did not take.
  useEffect(() => document.getElementById(framesId)?.remove(), []);
  useEffect(() => {
    document.documentElement.lang = language;
    if (refusal !== undefined) document.title = refusalOf(refusal, strings).title;
    if (view === undefined) return;
    document.title = strings.title(view.shop.name);
    showShopColors(view.shop.accent_color);
  }, [language, strings, view, refusal]);
  useEffect(() => {
    // In place of this page: the back button then leads to the shop and not to a payment that is done.
    if (leaving && view?.success_url != null) location.replace(view.success_url);
  }, [leaving, view?.success_url]);
  const canceled = useRef(false);
  useEffect(() => {
    if (canceled.current && view?.state === 'canceled' && view.cancel_url !== null) location.replace(view.cancel_url);
  }, [view?.state, view?.cancel_url]);

  return (
    <>
      <Header view={view} language={language} onLanguage={setLanguage} />
      <main>
        <div class="status" role="status" aria-live="polite">
          {checkout.isOffline && <p>{strings.offline}</p>}
          {isOpen && phase !== 'idle' && <p>{phase === 'pricing' ? strings.pricing : working}</p>}
          {view === undefined && refusal === undefined && !checkout.isOffline && <p>{strings.loading}</p>}
        </div>
        {view === undefined && refusal === undefined && <h1 class="only-read">{strings.payment}</h1>}
        {refusal !== undefined && <Refused key={refusal} code={refusal} strings={strings} />}
        {view !== undefined && !isOpen && <Outcome {...{ view, leaving, language, strings }} />}
        {view?.state === 'letter_pending' && view.asks_letter_questions && (
          <LetterForm
            strings={strings}
            busy={phase !== 'idle'}
            hasFailed={checkout.problem !== undefined}
            onAnswer={checkout.answerLetter}
          />
        )}
        {view !== undefined && isOpen && (
          <>
            <h1 class="only-read">{strings.title(view.shop.name)}</h1>
            <div class="columns">
              <Cart {...{ view, language, strings }}>
                <PromoCode
                  {...{ view, language, strings, busy: phase !== 'idle' }}
                  onChange={checkout.changePromoCode}
                />
                <InvoiceDocuments strings={strings} />
              </Cart>
              <div class="paying">
                <Notice key={checkout.tries} {...{ view, language, strings, phase, problem: checkout.problem }} />
                {view.authentication === null ? (
                  <>
                    <PayForm
                      {...{ view, language, strings, busy: phase !== 'idle', tries: checkout.tries }}
                      onPay={checkout.pay}
                    />
                    {!isInvoicePage && (
                      <CancelOrder
                        strings={strings}
                        busy={phase !== 'idle'}
                        onCancel={async () => {
                          canceled.current = true;
                          await checkout.cancel();
                        }}
                      />
                    )}
                  </>
                ) : (
                  <Authentication
                    {...{ authentication: view.authentication, language, strings, busy: phase !== 'idle' }}
                    isSaved={view.due_now === 0}
                    onDone={(giveUp) => void checkout.authenticate(giveUp)}
                  />
                )}
              </div>
            </div>
          </>
        )}
      </main>
    </>
  );
}

function Header(given: { view: PageView | undefined; language: Language; onLanguage: (language: Language) => void }) {
  const { view, language, onLanguage } = given;
  const strings = allStrings[language];
  const other: Language = language === 'en' ? 'es' : 'en';
  return (
    <header>
      {view?.shop.logo_url && <img src={view.shop.logo_url} alt="" />}
      <span class="shop">{view?.shop.name}</span>
      <div class="side">
        {view?.test_mode && <span class="badge">{strings.testMode}</span>}
        <button type="button" class="plain" lang={other} onClick={() => onLanguage(other)}>
          {strings.language}
        </button>
      </div>
    </header>
  );
}

function useAfter(ms: number | undefined): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    setOver(false);
    if (ms === undefined) return;
    const timer = setTimeout(() => setOver(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return isOver;
}
