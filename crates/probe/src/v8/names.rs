//! Which of V8's runtime functions stand for which class of work.
//!
//! By name and not by number, because each version adds, drops and moves functions. A name that a
//! version does not have is no error: its successor is in the list, too.

use super::accounting::Class;

/// Calls from generated code that compile, install code or decide to optimize. What they leave
/// out, the event log tells.
const JIT: &[&str] = &[
    "BytecodeBudgetInterruptWithStackCheck_Ignition",
    "BytecodeBudgetInterruptWithStackCheck_Maglev",
    "BytecodeBudgetInterruptWithStackCheck_Sparkplug",
    "BytecodeBudgetInterrupt_Ignition",
    "BytecodeBudgetInterrupt_Maglev",
    "BytecodeBudgetInterrupt_Sparkplug",
    "CompileBaseline",
    "CompileLazy",
    "CompileOptimized",
    "CompileOptimizedOSR",
    "CompileOptimizedOSRFromMaglev",
    "CompileOptimizedOSRFromMaglevInlined",
    "HealOptimizedCodeSlot",
    "InstallBaselineCode",
    "InstallBytecode",
    "InstallSFICode",
    "MarkLazyDeoptimized",
    "MaybePatchBinaryBaselineCode",
    "NotifyDeoptimized",
    "OptimizeMaglevEager",
    "OptimizeTurbofanEager",
    "PatchLoadICUninitializedBaseline",
    "StackGuard",
    "StackGuardWithGap",
    "StartMaglevOptimizeJob",
    "StartTurbofanOptimizeJob",
    "WasmCompileLazy",
    "WasmTriggerTierUp",
];

/// The part of a runtime function's mangled name behind its length.
const MANGLED_END: &str = "EiPmPNS0_7IsolateE";

/// The class of `Runtime_<name>`; `None` for one that is not watched.
pub fn class_of(name: &str) -> Option<Class> {
    let is_miss = [
        "IC_Miss",
        "IC_Slow",
        "ICNoFeedback_Miss",
        "IC_Miss_FromBaseline",
    ]
    .iter()
    .any(|end| name.ends_with(end));
    if is_miss {
        return Some(Class::Ic);
    }
    JIT.binary_search(&name).is_ok().then_some(Class::Jit)
}

/// `<name>` of the symbol `v8::internal::Runtime_<name>`, if it is one that is watched.
pub fn watched_symbol(symbol: &[u8]) -> Option<&str> {
    let rest = std::str::from_utf8(symbol)
        .ok()?
        .strip_prefix("_ZN2v88internal")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length = rest[..digits].parse::<usize>().ok()?;
    let name = rest[digits..].strip_suffix(MANGLED_END)?;
    let name = name
        .strip_prefix("Runtime_")
        .filter(|_| name.len() == length)?;
    class_of(name).map(|_| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_misses_and_compilation() {
        for name in [
            "LoadIC_Miss",
            "KeyedStoreIC_Slow",
            "StoreGlobalICNoFeedback_Miss",
        ] {
            assert_eq!(class_of(name), Some(Class::Ic), "{name}");
        }
        assert_eq!(class_of("LoadIC_Miss_FromBaseline"), Some(Class::Ic));
        for name in JIT {
            assert_eq!(
                class_of(name),
                Some(Class::Jit),
                "{name}: the list is not sorted"
            );
        }
        assert_eq!(class_of("CreateObjectLiteral"), None);
    }

    #[test]
    fn reads_mangled_names() {
        let watched = |symbol: &str| watched_symbol(symbol.as_bytes()).map(str::to_owned);
        let symbol = "_ZN2v88internal19Runtime_LoadIC_MissEiPmPNS0_7IsolateE";
        assert_eq!(watched(symbol).as_deref(), Some("LoadIC_Miss"));
        for other in [
            "_ZN2v88internal19Runtime_LoadIC_MissEiPmPNS0_7IsolateE.cold",
            "_ZN2v88internal18Runtime_LoadIC_MissEiPmPNS0_7IsolateE",
            "_ZN2v88internal12Runtime_TypeEiPmPNS0_7IsolateE",
            "_ZN2v88internal99999999999999999999999Runtime_EiPmPNS0_7IsolateE",
            "main",
        ] {
            assert_eq!(watched(other), None, "{other}");
        }
    }
}
