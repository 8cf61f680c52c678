//! The functions that every event of a toolkit goes through, and what the toolkit's numbers of events mean.

/// Where an event's name comes from.
#[derive(Debug, Clone, Copy)]
enum Names {
    /// From a number; the first name of the list has this one.
    From(i32, &'static [&'static str]),
    /// From a number; this list has them all.
    Of(&'static [(i32, &'static str)]),
    /// From the program's own memory.
    Told,
}

/// A function that every event of a toolkit passes through.
#[derive(Debug)]
pub(super) struct Function {
    /// The toolkit.
    pub(super) toolkit: &'static str,
    /// The name of its library's file, up to the version.
    pub(super) library: &'static str,
    /// The function.
    pub(super) symbol: &'static str,
    /// The program that is attached there.
    pub(super) program: &'static str,
    names: Names,
}

/// All of them; the number of each is its place, counted from 1.
pub(super) const FUNCTIONS: [Function; 7] = [
    Function {
        toolkit: "gtk2",
        library: "libgtk-x11-2.0.so",
        symbol: "gtk_main_do_event",
        program: "gtk2_event",
        names: Names::From(-1, &GDK3),
    },
    Function {
        toolkit: "gtk3",
        library: "libgtk-3.so",
        symbol: "gtk_main_do_event",
        program: "gtk3_event",
        names: Names::From(-1, &GDK3),
    },
    Function {
        toolkit: "gtk4",
        library: "libgtk-4.so",
        symbol: "gdk_event_unref",
        program: "gtk4_event",
        names: Names::From(0, &GDK4),
    },
    Function { toolkit: "qt5", library: "libQt5Gui.so", symbol: QT_EVENT, program: "qt5_event", names: Names::Of(&QT) },
    Function { toolkit: "qt6", library: "libQt6Gui.so", symbol: QT_EVENT, program: "qt6_event", names: Names::Of(&QT) },
    Function {
        toolkit: "xt",
        library: "libXt.so",
        symbol: "XtDispatchEvent",
        program: "xt_event",
        names: Names::From(2, &X11),
    },
    Function {
        toolkit: "wayland",
        library: "libffi.so",
        symbol: "ffi_call",
        program: "wayland_event",
        names: Names::Told,
    },
];

/// The library through which a program talks to a Wayland compositor.
pub(super) const WAYLAND_LIBRARY: &str = "libwayland-client.so";

/// `QGuiApplicationPrivate::processWindowSystemEvent`.
const QT_EVENT: &str =
    "_ZN22QGuiApplicationPrivate24processWindowSystemEventEPN29QWindowSystemInterfacePrivate17WindowSystemEventE";

/// `GdkEventType` of GTK 2 and 3, whose numbers are the same; the first is -1.
const GDK3: [&str; 49] = [
    "nothing",
    "delete",
    "destroy",
    "expose",
    "motion_notify",
    "button_press",
    "2button_press",
    "3button_press",
    "button_release",
    "key_press",
    "key_release",
    "enter_notify",
    "leave_notify",
    "focus_change",
    "configure",
    "map",
    "unmap",
    "property_notify",
    "selection_clear",
    "selection_request",
    "selection_notify",
    "proximity_in",
    "proximity_out",
    "drag_enter",
    "drag_leave",
    "drag_motion",
    "drag_status",
    "drop_start",
    "drop_finished",
    "client_event",
    "visibility_notify",
    "no_expose",
    "scroll",
    "window_state",
    "setting",
    "owner_change",
    "grab_broken",
    "damage",
    "touch_begin",
    "touch_update",
    "touch_end",
    "touch_cancel",
    "touchpad_swipe",
    "touchpad_pinch",
    "pad_button_press",
    "pad_button_release",
    "pad_ring",
    "pad_strip",
    "pad_group_mode",
];

/// `GdkEventType` of GTK 4.
const GDK4: [&str; 29] = [
    "delete",
    "motion_notify",
    "button_press",
    "button_release",
    "key_press",
    "key_release",
    "enter_notify",
    "leave_notify",
    "focus_change",
    "proximity_in",
    "proximity_out",
    "drag_enter",
    "drag_leave",
    "drag_motion",
    "drop_start",
    "scroll",
    "grab_broken",
    "touch_begin",
    "touch_update",
    "touch_end",
    "touch_cancel",
    "touchpad_swipe",
    "touchpad_pinch",
    "pad_button_press",
    "pad_button_release",
    "pad_ring",
    "pad_strip",
    "pad_group_mode",
    "touchpad_hold",
];

/// The events of the X protocol; the first is 2.
const X11: [&str; 34] = [
    "KeyPress",
    "KeyRelease",
    "ButtonPress",
    "ButtonRelease",
    "MotionNotify",
    "EnterNotify",
    "LeaveNotify",
    "FocusIn",
    "FocusOut",
    "KeymapNotify",
    "Expose",
    "GraphicsExpose",
    "NoExpose",
    "VisibilityNotify",
    "CreateNotify",
    "DestroyNotify",
    "UnmapNotify",
    "MapNotify",
    "MapRequest",
    "ReparentNotify",
    "ConfigureNotify",
    "ConfigureRequest",
    "GravityNotify",
    "ResizeRequest",
    "CirculateNotify",
    "CirculateRequest",
    "PropertyNotify",
    "SelectionClear",
    "SelectionRequest",
    "SelectionNotify",
    "ColormapNotify",
    "ClientMessage",
    "MappingNotify",
    "GenericEvent",
];

/// Those of `QWindowSystemInterfacePrivate::EventType`. What a user puts in has 0x100.
const QT: [(i32, &str); 32] = [
    (0x101, "Close"),
    (0x002, "GeometryChange"),
    (0x103, "Enter"),
    (0x104, "Leave"),
    (0x005, "ActivatedWindow"),
    (0x006, "WindowStateChanged"),
    (0x107, "Mouse"),
    (0x108, "FrameStrutMouse"),
    (0x109, "Wheel"),
    (0x10a, "Key"),
    (0x10b, "Touch"),
    (0x00c, "ScreenOrientation"),
    (0x00d, "ScreenGeometry"),
    (0x00e, "ScreenAvailableGeometry"),
    (0x00f, "ScreenLogicalDotsPerInch"),
    (0x010, "ScreenRefreshRate"),
    (0x011, "ThemeChange"),
    (0x012, "Expose"),
    (0x113, "FileOpen"),
    (0x114, "Tablet"),
    (0x115, "TabletEnterProximity"),
    (0x116, "TabletLeaveProximity"),
    (0x117, "PlatformPanel"),
    (0x118, "ContextMenu"),
    (0x119, "EnterWhatsThisMode"),
    (0x11a, "Gesture"),
    (0x019, "ApplicationStateChanged"),
    (0x020, "FlushEvents"),
    (0x021, "WindowScreenChanged"),
    (0x022, "SafeAreaMarginsChanged"),
    (0x023, "ApplicationTermination"),
    (0x024, "Paint"),
];

impl Function {
    /// The name of an event with this number; `told` is what the program's memory says.
    pub(super) fn name(&self, number: i32, told: (&str, &str)) -> String {
        let found = match self.names {
            Names::Told => return format!("{}.{}", told.0, if told.1.is_empty() { "?" } else { told.1 }),
            Names::From(first, list) => {
                let at = number.checked_sub(first).and_then(|at| usize::try_from(at).ok());
                at.and_then(|at| list.get(at)).copied()
            }
            Names::Of(list) => list.iter().find(|(known, _)| *known == number).map(|(_, name)| *name),
        };
        found.map_or_else(|| format!("type {number}"), str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::source_numbers::number_in;

    #[test]
    fn functions_have_the_numbers_of_the_programs() {
        for (number, name) in (1..).zip(["GTK2", "GTK3", "GTK4", "QT5", "QT6", "XT", "WAYLAND"]) {
            assert_eq!(number_in("toolkit_records.h", name), number, "{name}");
            assert_eq!(FUNCTIONS[number as usize - 1].toolkit, name.to_lowercase());
        }
    }

    #[test]
    fn events_have_the_names_that_their_toolkits_give_them() {
        let name = |toolkit: &str, number| {
            let function = FUNCTIONS.iter().find(|function| function.toolkit == toolkit).unwrap();
            function.name(number, ("wl_keyboard", "key"))
        };
        let expected = [
            ("gtk3", -1, "nothing"),
            ("gtk3", 8, "key_press"),
            ("gtk3", 31, "scroll"),
            ("gtk3", 36, "damage"),
            ("gtk3", 47, "pad_group_mode"),
            ("gtk4", 4, "key_press"),
            ("gtk4", 15, "scroll"),
            ("qt5", 0x10a, "Key"),
            ("xt", 2, "KeyPress"),
            ("xt", 35, "GenericEvent"),
            ("xt", 36, "type 36"),
            ("gtk3", i32::MIN, "type -2147483648"),
            ("wayland", 3, "wl_keyboard.key"),
        ];
        for (toolkit, number, words) in expected {
            assert_eq!(name(toolkit, number), words, "{toolkit} {number}");
        }
        let wayland = FUNCTIONS.last().unwrap();
        assert_eq!(wayland.name(i32::MIN, ("wl_pointer", "")), "wl_pointer.?");
    }
}
