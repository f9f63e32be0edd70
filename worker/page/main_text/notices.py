"""Notices that stand where a script would have put the page."""

from __future__ import annotations

import re
from typing import Final

LONGEST_NOTICE: Final = 40
"""Words. A page about scripts has more."""
_LONGEST_WAIT: Final = 8

_SCRIPTS: Final = re.compile(r"\bjava ?script\b", re.IGNORECASE)
_ASKS: Final = re.compile(
    r"enable|disabled|turn(ed)? (it )?on|activate|requires?\b|without|browser|aktivier|activer|activez|habilit|activa"
    r"|abilita|ativ[ae]|inschakel|schakel|включ|отключ|увімкн|włącz|zapn|engedély|activați|etkinleştir|ενεργοπο"
    r"|aktifkan|bật|启用|开启|啟用|開啟|浏览器|瀏覽器|有効|활성화|브라우저|تفعيل|فعال|सक्षम|הפעל|เปิดใช้",
    re.IGNORECASE,
)
_WAITS: Final = re.compile(
    r"\b(loading|please wait|just a moment|checking your browser|redirecting|laden|wird geladen|lädt|bitte warten"
    r"|chargement|veuillez patienter|cargando|espere|caricamento|attendere|carregando|aguarde|загрузка|загружается"
    r"|подождите|завантаження|зачекайте|ładowanie|wczytywanie|proszę czekać|načítání|betöltés|se încarcă|yükleniyor"
    r"|lütfen bekleyin|φόρτωση|memuat|mohon tunggu|đang tải)\b"
    r"|加载中|载入中|載入中|請稍候|请稍候|正在加载|読み込み中|読込中|お待ちください|로딩|불러오는 중|잠시만"
    r"|جار[ٍي]? التحميل|در حال بارگذاری|טוען|लोड हो रहा|กำลังโหลด",
    re.IGNORECASE,
)


def is_notice(text: str) -> bool:
    """Whether a text of few words asks for scripts, or one of very few says that the page is still to come."""
    if _SCRIPTS.search(text) and _ASKS.search(text):
        return True
    return len(text.split()) <= _LONGEST_WAIT and _WAITS.search(text) is not None
